"""The shared-prefix engine against running every prompt alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from grasp_cli.models import shared_prefix
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.models.shared_prefix import Limits, PrefixScorer, common_prefix, score_last
from grasp_cli.pipe.errors import ProcessingError
from tests.models.alive import alive
from tests.models.tiny_causal import FAMILIES, kept, naive_logits

ANSWERS = [262, 263]
Prompts = list[list[int]]


def prompts(shared: int, tails: list[int], seed: int = 0) -> Prompts:
    """Prompts of random tokens with a common beginning of at least `shared` tokens."""
    source = random.Random(seed)
    start = [2, *(source.randrange(5, 260) for _ in range(shared - 1))]
    return [start + [source.randrange(5, 260) for _ in range(tail)] for tail in tails]


GROUPS = [
    prompts(90, [3, 40, 17, 1, 9, 12, 33], 1),
    prompts(84, [5, 6], 2),  # prefilled with the one before, padded
    prompts(40, [8], 3),  # alone
    prompts(5, [7, 2, 60], 4),  # too short a prefix
    prompts(300, [12, 50, 20, 31], 5),
    [],
]


def rows(model: Any) -> Any:
    return model.get_output_embeddings().weight[ANSWERS].detach()


def close(model: Any, group: Prompts, found: Any) -> bool:
    """Within 1e-5 after the soft cap, whose inverse would magnify rounding."""
    cap = getattr(model.config, "final_logit_softcapping", None)
    capped = found if cap is None else torch_runtime().tanh(found / cap) * cap
    alone = naive(model, tuple(map(tuple, group)))
    return bool((capped - alone).abs().max() <= 1e-5)


@lru_cache
def naive(model: Any, group: tuple[tuple[int, ...], ...]) -> Any:
    return naive_logits(model, group, ANSWERS)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch_tokens", [1, 100, 4096])
def test_equals_one_by_one(family: str, batch_tokens: int) -> None:
    model = kept(family)
    found = PrefixScorer(model, rows(model), batch_tokens=batch_tokens).score(GROUPS)
    for group, scores in zip(GROUPS, found, strict=True):
        assert scores.shape == (len(group), 2)
        assert not group or close(model, group, scores)


@pytest.mark.parametrize("family", FAMILIES)
def test_prefix_in_pieces(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shared_prefix.LIMITS, "cpu", Limits(batch=4096, piece=32, call=64))
    model = kept(family)
    for group in (GROUPS[4], prompts(200, [9], 6)):
        assert close(model, group, score_last(model, group, rows(model)))


def test_the_shared_part_is_computed_once() -> None:
    model = kept("llama")
    group = prompts(500, [4] * 20)
    scorer = PrefixScorer(model, rows(model))
    scorer.score([group])
    assert scorer.tokens == 500 + 20 * 4


def test_scoring_again_gives_the_same() -> None:
    model = kept("gemma3")
    scorer = PrefixScorer(model, rows(model), batch_tokens=100)
    first, second = scorer.score(GROUPS), scorer.score(GROUPS)
    assert all(bool((one == other).all()) for one, other in zip(first, second, strict=True))


def on_cuda() -> None:
    raise torch_runtime().OutOfMemoryError("simulated")


def on_cpu() -> None:
    torch_runtime().empty(1 << 60, dtype=torch_runtime().uint8)


def on_mps() -> None:
    raise RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)")


class Limited:
    """A base model that runs out of memory on more than `most` tokens at once."""

    def __init__(self, base: Any, most: int, fail: Callable[[], None]) -> None:
        self._base = base
        self._most = most
        self._fail = fail
        self.config, self.device, self.dtype = base.config, base.device, base.dtype
        self.forward = base.forward
        self.refused = 0

    def __call__(self, **inputs: Any) -> Any:
        if inputs["input_ids"].numel() > self._most:
            self.refused += 1
            self._fail()
        return self._base(**inputs)


def limited(
    model: Any, most: int, fail: Callable[[], None] = on_cuda
) -> tuple[PrefixScorer, Limited]:
    scorer = PrefixScorer(model, rows(model))
    base = Limited(model.base_model, most, fail)
    scorer._base = base
    return scorer, base


@pytest.mark.parametrize("fail", [on_cuda, on_cpu, on_mps])
def test_out_of_memory_is_survived(fail: Callable[[], None]) -> None:
    model = kept("gemma3")
    scorer, base = limited(model, 80, fail)
    found = scorer.score(GROUPS)
    assert base.refused > 0
    assert all(
        close(model, group, scores) for group, scores in zip(GROUPS, found, strict=True) if group
    )


def test_out_of_memory_on_a_single_prompt_is_an_error() -> None:
    scorer, _ = limited(kept("llama"), 30)
    with pytest.raises(ProcessingError, match="out of memory"):
        scorer.score([prompts(10, [45])])


def test_another_failure_is_not_taken_for_it() -> None:
    def fail() -> None:
        raise RuntimeError("the sizes do not fit")

    for group in (prompts(10, [45]), prompts(100, [20, 20])):  # plain, and on a prefix
        scorer, base = limited(kept("llama"), 30, fail)
        with pytest.raises(RuntimeError, match="do not fit"):
            scorer.score([group])
        assert base.refused == 1


def test_little_memory_means_small_chunks() -> None:
    model = kept("llama")
    group = prompts(100, [10] * 12)
    wide, narrow = (PrefixScorer(model, rows(model), memory=size) for size in (1 << 30, 60_000))
    calls = []
    for scorer in (wide, narrow):
        run, seen = scorer._run, []
        scorer._run = lambda run=run, seen=seen, **inputs: (  # type: ignore[method-assign]
            seen.append(len(inputs["input_ids"])) or run(**inputs)
        )
        assert close(model, group, scorer.score([group])[0])
        calls.append(max(seen))
    assert calls[0] == 12
    assert calls[1] < 12


@pytest.mark.parametrize("family", FAMILIES)
def test_a_long_prefix_is_copied_for_no_more_rows_than_fit(family: str) -> None:
    model = kept(family)
    group = prompts(2000, [20] * 100)
    room = 6 << 20
    peak, cache, most_rows = allocated(model, group, memory=room)
    assert peak <= cache + room
    assert most_rows > 1
    assert allocated(model, group, memory=1 << 40)[0] > cache + 2 * room  # all rows at once


def allocated(model: Any, group: Prompts, *, memory: int) -> tuple[int, int, int]:
    """Bytes of tensors at the peak and of the prefix's cache, and rows of the widest pass."""
    scorer = PrefixScorer(model, rows(model), batch_tokens=1 << 20, memory=memory)
    prefill, run = scorer._prefill, scorer._run
    caches, seen = [], []

    def prefilled(prefixes: Prompts) -> Any:
        held = prefill(prefixes)
        caches.append(sum(layer.keys.nbytes + layer.values.nbytes for layer in held.cache.layers))
        return held

    def counted(**inputs: Any) -> Any:
        seen.append(len(inputs["input_ids"]))
        return run(**inputs)

    scorer._prefill, scorer._run = prefilled, counted  # type: ignore[method-assign]
    with alive() as found:
        scorer.score([group])
    return found.peak, caches[0], max(seen)


def test_values_that_are_not_finite_are_refused() -> None:
    model = kept("llama")
    with pytest.raises(ProcessingError, match="not finite"):
        score_last(model, GROUPS[0], rows(model) * float("nan"))


token = some.integers(0, 3)


@given(some.lists(some.lists(token, min_size=1, max_size=8), min_size=1, max_size=6))
def test_common_prefix_is_the_longest(group: Prompts) -> None:
    size = common_prefix(group)
    assert all(prompt[:size] == group[0][:size] for prompt in group)
    assert all(len(prompt) > size for prompt in group)
    longer = size + 1
    assert any(len(prompt) == longer for prompt in group) or any(
        prompt[:longer] != group[0][:longer] for prompt in group
    )


@given(some.lists(some.integers(1, 300), max_size=40), some.integers(1, 2000), some.integers(0, 99))
def test_batches_cover_everything_once(sizes: list[int], most: int, waste: int) -> None:
    sizes = sorted(sizes, reverse=True)
    found = shared_prefix._batches(sizes, most, waste, lambda size: 7)
    assert [place for start, end in found for place in range(start, end)] == list(range(len(sizes)))
    for start, end in found:
        assert end - start <= 7
        assert end - start == 1 or (end - start) * sizes[start] <= most
        assert sum(sizes[start] - size for size in sizes[start:end]) <= waste


@pytest.mark.models
def test_real_gemma_equals_one_by_one() -> None:
    pytest.importorskip("gguf")
    from grasp_cli.models.locate import find
    from grasp_cli.models.runtime import quiet_transformers
    from grasp_cli.text.tokens import load_tokenizer

    directory = find("gemma-3-270m")
    model = quiet_transformers().AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch_runtime().float32
    )
    tokens = load_tokenizer(directory)
    start = "Query:\nWho built the bridge?\nFull context:\nAda Kerr built it in 1911. It is red.\n"
    group = [tokens.encode(start + text).ids for text in ("Ada Kerr built it.", "It is red.", "No")]
    answers = [tokens.token_to_id("Yes"), tokens.token_to_id("No")]
    head = model.get_output_embeddings().weight[answers].detach()
    difference = score_last(model, group, head) - naive_logits(model, group, answers)
    assert float(difference.abs().max()) <= 1e-4
