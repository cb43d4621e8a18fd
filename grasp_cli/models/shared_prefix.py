"""Score many prompts that begin alike with a causal model, what they share computed once.

The last hidden state of each prompt is multiplied by a few rows of the output head, instead of
computing logits for the whole vocabulary at every position. The result is that of running every
prompt alone; the work is that of the shared beginnings once and of what differs.

How it goes: the longest common token prefix of a group goes through the model once and leaves its
keys and values; then batches of right-padded suffixes run on top, with a full 2-D mask and
explicit positions. Prefixes of several groups are padded on the left, where neither a causal nor
a sliding-window mask can see the gap. (One packed 4-D mask would be shorter, and silently wrong
on models with sliding-window layers.)
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import ProcessingError

Tokens = list[int]

SHORT = 16  # tokens; a shorter common prefix is not worth a cache
_LEAST_PIECE = 32
_CPU_MEMORY = 1 << 30  # bytes for a batch's tensors beside weights and prefix
_DEVICE_SHARE = 0.5  # of the free memory of a CUDA device


class Limits(NamedTuple):
    """Sizes in tokens that make a device fast."""

    batch: int  # of one pass, padding included
    piece: int  # of a prefix in one pass: the mask of a whole long one is quadratic
    call: int  # what a pass costs beside its tokens, so how much padding another one is worth


# Measured with Gemma 3 270M in bfloat16: a processor reads 740 tokens a second in passes of 1,024
# tokens and 610 in passes of 2,240; a prefix of 2,048 takes 7.6 s whole and 5.2 s in pieces of 512,
# since layers with a sliding window then see fewer keys.
LIMITS = {"cpu": Limits(1024, 512, 24)}
_ACCELERATOR = Limits(16384, 4096, 1024)


def common_prefix(prompts: Sequence[Tokens]) -> int:
    """How many tokens all prompts begin with, at least one token of each left over."""
    least, greatest = min(prompts), max(prompts)
    most = min(map(len, prompts)) - 1
    pairs = zip(least[:most], greatest[:most], strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), max(most, 0))


def score_last(model: Any, prompts: Sequence[Tokens], rows: Any, **limits: Any) -> Any:
    """Rows of the output head times the last hidden state of each prompt, shape (n, len(rows)).

    A shorthand for one group of `PrefixScorer`, which see.
    """
    return PrefixScorer(model, rows, **limits).score([prompts])[0]


class PrefixScorer:
    """Scores groups of prompts; the prompts of a group should begin alike.

    Parameters
    ----------
    model
        A causal model of transformers; only its base model (no head) is run.
    rows
        Rows of its output head, tensor of shape (k, hidden size).
    batch_tokens
        Most tokens of one pass, instead of `LIMITS` of the device.
    memory
        Bytes that a pass may take beside the weights and the prefix's keys and values; by default
        1 GiB, and half of what is free on a CUDA device. When it runs out all the same, batches
        are halved, and stay so.
    """

    def __init__(
        self,
        model: Any,
        rows: Any,
        *,
        batch_tokens: int | None = None,
        memory: int | None = None,
    ) -> None:
        self._base = model.base_model
        self._rows = rows
        limits = LIMITS.get(model.device.type, _ACCELERATOR)
        self._batch_tokens = batch_tokens or limits.batch
        self._call = limits.call
        self._memory = memory
        self._most_rows: int | None = None  # learned when memory ran out
        self._piece = limits.piece
        self._cache_argument = _cache_argument(self._base)
        self.tokens = 0  # that went through the model, padding included

    def score(self, groups: Sequence[Sequence[Tokens]]) -> list[Any]:
        """Per group a float32 tensor on the CPU of shape (prompts, k).

        Raises `ProcessingError` where memory runs out for a single prompt or the model returns
        values that are not finite.
        """
        torch = torch_runtime()
        results = [torch.zeros((len(prompts), len(self._rows))) for prompts in groups]
        alone: list[_Item] = []
        shared: list[_Group] = []
        for number, prompts in enumerate(groups):
            if not prompts:
                continue
            size = self._shared_size(prompts)
            items = [_Item(number, i, prompt[size:]) for i, prompt in enumerate(prompts)]
            if size:
                shared.append(_Group(prompts[0][:size], items))
            else:
                alone += items
        with torch.inference_mode():
            self._plain(alone, results)
            shared.sort(key=lambda group: -len(group.prefix))
            sizes = [len(group.prefix) for group in shared]
            for start, end in _batches(sizes, self._batch_tokens, self._call):
                self._together(shared[start:end], results)
        return results

    def _shared_size(self, prompts: Sequence[Tokens]) -> int:
        """Length of the prefix that is worth a pass of its own; 0 for the plain path."""
        size = common_prefix(prompts)
        long = len(prompts[0]) > self._piece  # alone, but its mask would be quadratic
        worth = size >= SHORT and (len(prompts) > 1 or long)
        return size if worth and _can_share(self._new_cache()) else 0

    def _plain(self, items: list[_Item], results: list[Any]) -> None:
        items.sort(key=lambda item: -len(item.tokens))
        self._in_chunks(items, None, 0, results)

    def _together(self, groups: list[_Group], results: list[Any]) -> None:
        """Prefill a few groups in one pass, then their suffixes; fewer where memory runs out."""
        held = self._prefilled(groups)
        if held is None:
            half = len(groups) // 2
            self._together(groups[:half], results)
            self._together(groups[half:], results)
            return
        items = [item._replace(row=row) for row, group in enumerate(groups) for item in group.items]
        items.sort(key=lambda item: -len(item.tokens))
        self._in_chunks(items, held, held.length, results)

    def _prefilled(self, groups: list[_Group]) -> _Held | None:
        """The prefixes' keys and values; None where memory ran out and several can be split."""
        while True:
            try:
                return self._prefill([group.prefix for group in groups])
            except (RuntimeError, MemoryError) as problem:
                if not _out_of_memory(problem):
                    raise
            # Here the failed pass holds no tensors any more.
            _release()
            if len(groups) > 1:
                return None
            if self._piece <= _LEAST_PIECE:
                size = len(groups[0].prefix)
                raise ProcessingError(
                    f"out of memory on a prompt of {size} tokens: lower --max-input-tokens, or "
                    "use --quantize nf4 or --device cpu"
                )
            self._piece //= 2

    def _prefill(self, prefixes: list[list[int]]) -> _Held:
        torch = torch_runtime()
        length = max(map(len, prefixes))
        padded = any(len(prefix) < length for prefix in prefixes)
        ids = [[0] * (length - len(prefix)) + prefix for prefix in prefixes]
        mask = [[0] * (length - len(prefix)) + [1] * len(prefix) for prefix in prefixes]
        ids, mask = self._tensor(ids), self._tensor(mask)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        cache = self._new_cache()
        piece = self._fitting_piece(len(prefixes), length)
        for start in range(0, length, piece):
            part = slice(start, min(start + piece, length))
            self._run(
                input_ids=ids[:, part],
                attention_mask=mask[:, : part.stop] if padded else None,
                position_ids=positions[:, part],
                use_cache=True,
                **{self._cache_argument: cache},
            )
        return _Held(cache, mask, torch.tensor([len(prefix) for prefix in prefixes]), length)

    def _in_chunks(
        self, items: list[_Item], held: _Held | None, before: int, results: list[Any]
    ) -> None:
        sizes = [len(item.tokens) for item in items]

        def most_rows(length: int) -> int:
            rows = self._memory_now() // self._row_bytes(before, length)
            return min(rows, self._most_rows or rows)

        for start, end in _batches(sizes, self._batch_tokens, self._call, most_rows):
            self._chunk(items[start:end], held, results)

    def _chunk(self, items: list[_Item], held: _Held | None, results: list[Any]) -> None:
        """One pass over suffixes; two of half the size where memory runs out."""
        try:
            scores = self._suffixes(items, held)
        except (RuntimeError, MemoryError) as problem:
            if not _out_of_memory(problem):
                raise
            scores = None
        if scores is None:
            _release()
            if len(items) == 1:
                raise ProcessingError(
                    f"out of memory on one prompt of {len(items[0].tokens)} tokens beside what it "
                    "shares: lower --max-input-tokens, or use --quantize nf4 or --device cpu"
                )
            half = len(items) // 2
            self._most_rows = half
            self._chunk(items[:half], held, results)
            self._chunk(items[half:], held, results)
            return
        if not bool(scores.isfinite().all()):
            raise ProcessingError(
                "the classifier's model gave values that are not finite: try --dtype float32"
            )
        for item, score in zip(items, scores, strict=True):
            results[item.group][item.place] = score

    def _suffixes(self, items: list[_Item], held: _Held | None) -> Any:
        """Scores of right-padded suffixes on top of the prefixes they belong to."""
        torch = torch_runtime()
        sizes = torch.tensor([len(item.tokens) for item in items])
        length = int(sizes.max())
        ids = self._tensor([item.tokens + [0] * (length - len(item.tokens)) for item in items])
        mask = (torch.arange(length)[None, :] < sizes[:, None]).long().to(ids.device)
        positions = torch.arange(length)[None, :].repeat(len(items), 1)
        more: dict[str, Any] = {"use_cache": False}
        if held is not None:
            rows = torch.tensor([item.row for item in items])
            mask = torch.cat([held.mask[rows.to(ids.device)], mask], dim=1)
            positions = positions + held.sizes[rows][:, None]
            more = {"use_cache": True, self._cache_argument: _serving(held.cache, rows)}
        states = self._run(
            input_ids=ids, attention_mask=mask, position_ids=positions.to(ids.device), **more
        ).last_hidden_state
        last = states[torch.arange(len(items), device=states.device), (sizes - 1).to(states.device)]
        return (last.float() @ self._rows.to(last.device).float().T).cpu()

    def _run(self, **inputs: Any) -> Any:
        self.tokens += inputs["input_ids"].numel()
        return self._base(**inputs)

    def _tensor(self, values: list[list[int]]) -> Any:
        return torch_runtime().tensor(values, device=self._base.device)

    def _new_cache(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._base.config)

    def _memory_now(self) -> int:
        if self._memory is not None:
            return self._memory
        torch = torch_runtime()
        if self._base.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self._base.device)
            return int(free * _DEVICE_SHARE)
        return _CPU_MEMORY

    def _fitting_piece(self, rows: int, length: int) -> int:
        piece = min(self._piece, max(_LEAST_PIECE, self._batch_tokens // rows))
        while piece > _LEAST_PIECE and rows * self._row_bytes(length, piece) > self._memory_now():
            piece //= 2
        return piece

    def _row_bytes(self, before: int, length: int) -> int:
        """An upper estimate of what one row of a pass takes at its peak, in bytes.

        One layer's keys and values (as cached, and repeated to all heads), the mask, the scores
        of eager attention, and the widest activations.
        """
        config = self._base.config.get_text_config()
        item = self._base.dtype.itemsize
        heads = config.num_attention_heads
        groups = getattr(config, "num_key_value_heads", None) or heads
        width = getattr(config, "head_dim", None) or config.hidden_size // heads
        inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        seen = before + length
        states = 2 * seen * width * (groups + heads) * item
        attention = length * seen * (1 + item)
        if config._attn_implementation == "eager":
            attention += length * seen * heads * (item + 4)
        return int(states + attention + length * (8 * config.hidden_size + 3 * inner) * item)


class _Item(NamedTuple):
    group: int
    place: int
    tokens: list[int]  # what follows the shared prefix
    row: int = 0  # of the prefix among those held


class _Group(NamedTuple):
    prefix: list[int]
    items: list[_Item]


class _Held(NamedTuple):
    """Prefixes that went through the model."""

    cache: Any
    mask: Any  # (prefixes, length): 0 where there is padding
    sizes: Any  # (prefixes,)
    length: int


def _serving(cache: Any, rows: Any) -> Any:
    """A cache like `cache` in front of a chunk whose rows belong to the prefixes `rows`.

    Its layers answer from the pristine ones and keep nothing: each update works on a throw-away
    copy, so what one chunk adds is neither seen by the next nor held longer than its layer needs.
    """
    served = copy.copy(cache)
    served.layers = []
    for layer in cache.layers:
        front = copy.copy(layer)
        front.update = partial(_update, layer, rows)
        served.layers.append(front)
    return served


def _update(layer: Any, rows: Any, *args: Any, **kwargs: Any) -> Any:
    used = copy.copy(layer)
    used.keys, used.values = _of_rows(layer.keys, rows), _of_rows(layer.values, rows)
    return used.update(*args, **kwargs)


def _of_rows(states: Any, rows: Any) -> Any:
    if len(states) == 1:  # a view: nothing is copied before the new keys are appended
        return states.expand(len(rows), -1, -1, -1)
    return states[rows.to(states.device)]


def _can_share(cache: Any) -> bool:
    """Whether each layer keeps keys and values that a suffix can run on (no recurrent state)."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in cache.layers)


def _cache_argument(base: Any) -> str:
    """What this release of transformers calls the cache: the older name warns in newer ones."""
    known = inspect.signature(base.forward).parameters
    return "cache" if "cache" in known else "past_key_values"


def _out_of_memory(problem: Exception) -> bool:
    """Whether memory ran out. Only CUDA has a type for it; CPU and MPS have only their words."""
    known = (torch_runtime().OutOfMemoryError, MemoryError)
    words = ("can't allocate memory", "out of memory")
    return isinstance(problem, known) or any(text in str(problem) for text in words)


def _release() -> None:
    torch = torch_runtime()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _batches(
    sizes: Sequence[int],
    most_tokens: int,
    most_waste: int,
    most_rows: Callable[[int], int] | None = None,
) -> list[tuple[int, int]]:
    """Cut descending `sizes` into batches padded to their first.

    A batch ends at `most_tokens` padded tokens, at `most_rows(length)` rows, or at `most_waste`
    tokens of padding.
    """
    found: list[tuple[int, int]] = []
    start = wasted = 0
    rows = 1
    for place, size in enumerate(sizes):
        longest = sizes[start]
        wasted += longest - size
        full = (place + 1 - start) * longest > most_tokens or place - start >= rows
        if place > start and (full or wasted > most_waste):
            found.append((start, place))
            start, wasted = place, 0
        if start == place:
            rows = max(1, most_rows(size)) if most_rows else len(sizes)
    if sizes:
        found.append((start, len(sizes)))
    return found
