"""The extractive reader against transformers' own windows and `run_qa.py` written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.span_reader import LONGEST_ANSWER, OVERLAP, ExtractiveReader, best_span
from grasp_cli.pipe.errors import ProcessingError
from tests.compression.baselines.tiny_tokens import _seeded, _shape, wordpiece

POSITIONS = 192  # windows are as long
LONG = " ".join(f"Ann {n} won in Leith, not Bob." for n in range(40))
PAIRS = [
    ("Who won?", "Ann Lee won the cup in 1990."),
    ("Where?", LONG),
    ("When did Bob win?", LONG[: POSITIONS - 40]),
    ("Why?", "x"),
    ("Who?", ""),
]


def question_answerer(directory: Path) -> Path:
    """A tiny BERT with a span head, as transformers saves it."""
    transformers = quiet_transformers()
    config = transformers.BertConfig(**_shape(POSITIONS), intermediate_size=48)
    _seeded(transformers.BertForQuestionAnswering, config, 31).save_pretrained(directory)
    wordpiece().save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ExtractiveReader:
    return ExtractiveReader(question_answerer(tmp_path_factory.mktemp("qa")), threads=1)


def run_qa(directory: Path, question: str, text: str) -> tuple[str, float, float]:
    """The answer as run_qa.py takes it (all spans as candidates), its score and the null score."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(directory).eval()
    features = tokenizer(
        question,
        text,
        truncation="only_second",
        max_length=POSITIONS,
        stride=OVERLAP,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    best, null = (-np.inf, ""), np.inf
    for number, ids in enumerate(features["input_ids"]):
        inputs = {"input_ids": torch.tensor([ids])}
        inputs["token_type_ids"] = torch.tensor([features["token_type_ids"][number]])
        with torch.no_grad():
            output = model(**inputs)
        starts, ends = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        null = min(null, starts[0] + ends[0])
        offsets, owners = features["offset_mapping"][number], features.sequence_ids(number)
        for start, begin in enumerate(starts):
            for end in range(start, min(start + LONGEST_ANSWER, len(ids))):
                if owners[start] == owners[end] == 1 and begin + ends[end] > best[0]:
                    best = (begin + ends[end], text[offsets[start][0] : offsets[end][1]])
    return best[1] if best[0] >= null else "", best[0], null


def test_answers_are_those_of_run_qa(reader: ExtractiveReader) -> None:
    expected = [run_qa(reader.path, *pair)[0] for pair in PAIRS]
    assert reader.answers(PAIRS) == expected
    assert expected[-1] == "" and any(expected)
    assert [reader.answers([pair])[0] for pair in PAIRS] == expected  # batches change nothing
    assert reader.answers([]) == []


def test_no_answer_wins_where_its_score_is_higher(reader: ExtractiveReader, tmp_path: Path) -> None:
    torch = torch_runtime(1)
    sure = ExtractiveReader(question_answerer(tmp_path), threads=1)
    head = sure._model.qa_outputs
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
    assert sure.answers([PAIRS[0]]) == ["A"]  # all equal: the first span, as nothing is not above
    network: Any = sure._model

    def lifted(**inputs: Any) -> Any:
        output = type(network).forward(network, **inputs)
        output.start_logits[:, 0] += 1
        return output

    sure.__dict__["_model"] = _Lifted(network, lifted)
    assert sure.answers(PAIRS) == [""] * len(PAIRS)


class _Lifted:
    """A network with another forward pass."""

    def __init__(self, network: Any, forward: Any) -> None:
        self.config = network.config
        self._forward = forward

    def __call__(self, **inputs: Any) -> Any:
        return self._forward(**inputs)


def test_spans_by_hand() -> None:
    spans = {2: (0, 1), 3: (2, 3), 4: (4, 5)}
    starts, ends = np.array([9, 9, 0, 3, 1, 9.0]), np.array([9, 9, 5, 1, 0, 9.0])
    found = best_span(spans, starts, ends)  # position 3 to 3: 4; 2 to 2: 5, and no end before
    assert (found.score, found.start, found.end) == (5, 0, 1)
    assert best_span({}, starts, ends).score == -np.inf
    many = {n: (n, n + 1) for n in range(40)}
    far = best_span(many, np.eye(40)[0] * 5, np.eye(40)[35] * 5)
    assert far.end - far.start <= LONGEST_ANSWER


def test_a_question_that_fills_the_window_is_refused(reader: ExtractiveReader) -> None:
    with pytest.raises(ProcessingError, match="leave room for the text"):
        reader.answers([("why " * 60, "x")])


def test_another_model_is_refused(tmp_path: Path) -> None:
    transformers = quiet_transformers()
    config = transformers.BertConfig(**_shape(POSITIONS), intermediate_size=48)
    _seeded(transformers.BertModel, config, 31).save_pretrained(tmp_path)
    wordpiece().save_pretrained(tmp_path)
    with pytest.raises(ProcessingError, match="no question answering model"):
        ExtractiveReader(tmp_path).answers(PAIRS)
