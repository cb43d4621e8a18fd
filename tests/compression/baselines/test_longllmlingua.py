"""LongLLMLingua on tiny causal models, against whole logits and the paper's steps by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.baselines.longllmlingua import (
    RESTRICTION,
    SEGMENT,
    SPARE,
    LongLLMLingua,
    rates,
    within_budget,
)
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.losses import last_losses
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import RecordError
from tests.compression.baselines.helpers import QUESTION, record, run, settings
from tests.models import tiny_causal

RUNNING = Running("cpu", "float32", "none", 1, True)
TEXTS = [
    "Salt was dear in Orl. Bread was not.",
    "The dam at Orl was built in 1911. It burst in 1924! Nobody was hurt, and the lake is gone. "
    "A museum shows the last gate, a door of oak and iron, and the bell that rang that night. "
    "The keeper of the gate slept, as he said later, because the bell had been sold for scrap.",
    "A ferry left at noon.",
]


@pytest.fixture(scope="module", params=["gemma2", "llama"])
def path(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal.saved(tmp_path_factory.mktemp(request.param), request.param)


def naive_losses(path: Path, tokens: list[int], count: int) -> Any:
    """By logits at every position."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].double()
    logs = logits.log_softmax(-1)
    places = range(len(tokens) - count, len(tokens))
    return np.array([-logs[place - 1, tokens[place]].item() for place in places])


def test_losses_are_those_of_the_whole_logits(path: Path) -> None:
    model = CausalModel(path, RUNNING)
    tokens = [2, *model.tokenizer.encode(TEXTS[1], add_special_tokens=False).ids]
    for count in (1, 30, len(tokens) - 1):
        found = last_losses(model, tokens, count)
        np.testing.assert_allclose(found, naive_losses(path, tokens, count), atol=1e-4)
    assert last_losses(model, tokens[:1], 1).tolist() == [0.0]
    assert last_losses(model, tokens[:3], 3)[0] == 0.0


def kept_by_hand(path: Path, rate: float) -> list[set[int]]:
    """The places of the characters that stay, all steps in the order of the paper."""
    tokenizer = CausalModel(path, RUNNING).tokenizer

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    titles = ["", "A title\n", ""]
    sizes = [len(ids(text)) for text in TEXTS]
    budget = rate * sum(sizes)
    asked = ids(QUESTION + RESTRICTION)
    surprise = [
        naive_losses(path, [2, *ids(title), *ids(text), *asked], len(asked)).mean()
        for title, text in zip(titles, TEXTS, strict=True)
    ]
    order = sorted(range(3), key=lambda number: surprise[number])
    taken, used = [], 0.0
    for number in order:
        taken.append(number)
        used += sizes[number]
        if used > budget + SPARE:
            break
    base = budget / used
    share = {}
    for place, number in enumerate(taken):
        raised = 0.3 - 0.6 * place / (len(taken) - 1) if len(taken) > 1 else 0.0
        share[number] = min(1.0, max(0.0, base + raised))
    shown: list[int] = []
    kept: list[set[int]] = [set(), set(), set()]
    for number in sorted(taken):
        shown += ids(titles[number])
        text = ids(TEXTS[number])
        spans = tokenizer.encode(TEXTS[number], add_special_tokens=False).offsets
        for start in range(0, len(text), SEGMENT):
            part = text[start : start + SEGMENT]
            plain = naive_losses(path, [2, *shown, *part], len(part))
            question = ids(f"{QUESTION}\n\n")
            gains = plain - naive_losses(path, [2, *question, *shown, *part], len(part))
            count = max(int(share[number] * len(part) + 1e-9), number == order[0])
            best = sorted(sorted(range(len(part)), key=lambda i: -gains[i])[:count])
            shown += [part[i] for i in best]
            for i in best:
                kept[number] |= set(range(*spans[start + i]))
        shown += ids("\n\n")
    return kept


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_what_stays_is_what_the_steps_of_the_paper_leave(path: Path, rate: float) -> None:
    expected = kept_by_hand(path, rate)
    assert sum(map(len, expected)) > 10
    options = settings("longllmlingua", rate=rate)
    (out,) = run(LongLLMLingua(CausalModel(path, RUNNING), options), options, record(TEXTS))
    found: list[set[int]] = [set(), set(), set()]
    for item in out["evidence"]:
        number = int(item["context"][1:])
        assert item["text"] == TEXTS[number][item["start"] : item["end"]]
        found[number] |= set(range(item["start"], item["end"]))
    for number, text in enumerate(TEXTS):
        solid = {i for i in expected[number] if not text[i].isspace()}
        assert {i for i in found[number] if not text[i].isspace()} == solid


def test_budget_and_rates() -> None:
    assert within_budget([50, 60, 70], 100) == 2 and within_budget([50, 60], 500) == 2
    assert within_budget([], 10) == 0
    assert rates([100, 100, 100], 150) == pytest.approx([0.8, 0.5, 0.2])
    assert rates([100], 20) == [0.2] and rates([10, 10], 18) == [1.0, pytest.approx(0.6)]


def test_pieces_that_are_more_tokens_than_the_words_are_not_written(path: Path) -> None:
    options = settings("longllmlingua", rate=0.8)
    (out,) = run(LongLLMLingua(CausalModel(path, RUNNING), options), options, record(TEXTS[1:2]))
    said = out["compression"]
    assert said["fallback"] == "longer" and said["removed"] == 0
    assert out["context"] == TEXTS[1]


def test_a_question_that_leaves_no_room_is_refused(tmp_path: Path) -> None:
    path = tiny_causal.saved(tmp_path, "llama", max_position_embeddings=700)
    options = settings("longllmlingua")
    method = LongLLMLingua(CausalModel(path, RUNNING), options)
    fine, error = run(method, options, record(["One. " * 300]), record(question="why so " * 50))
    assert isinstance(error, RecordError) and error.kind == "QuestionTooLong"
    assert fine["context"], "a passage longer than the model holds is read in its end"
