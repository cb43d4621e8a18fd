"""Reranking against scoring pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.models.cross_encoder import CrossEncoder
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.rerank import Reranker
from tests.compression import tiny

TEXTS = {
    "a": "The ferry left.",
    "b": "Dr. Hale led the survey of 1911.",
    "c": "水库",
    "d": "No.",
    "e": "The dam at Orl burst! " * 4,
}


class Found:
    """A first stage that finds the passages of `TEXTS`, or fails."""

    name = "retrieve"
    window = 7

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        for record in records:
            if not record["question"]:
                yield RecordError("empty", kind="EmptyQuestion")
                continue
            names = record["finds"]
            contexts = [
                {
                    "id": name,
                    "title": "Orl" if name == "a" else "",
                    "text": TEXTS.get(name, "Same."),
                    "score": round(1 / rank, 4),
                    "rank": rank,
                    "mine": name,
                }
                for rank, name in enumerate(names, start=1)
            ]
            yield {**record, "contexts": contexts, "retrieval": {"mode": "sparse", "seconds": 0.5}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    return CrossEncoder(tiny.cross_encoder(tmp_path_factory.mktemp("model")), threads=1)


def asked(question: str, finds: str) -> dict[str, Any]:
    return {"id": question, "question": question, "finds": list(finds)}


def ids(record: Any) -> list[str]:
    return [context["id"] for context in record["contexts"]]


def test_equal_to_scoring_pair_by_pair(model: CrossEncoder) -> None:
    records = [asked("Who led it?", "abcde"), asked("Why?", ""), asked("When?", "edb")]
    outcomes = list(Reranker(Found(), model, 3).process(records))
    for given, outcome in zip(records, outcomes, strict=True):
        assert not isinstance(outcome, RecordError)
        texts = {name: f"Orl\n{TEXTS[name]}" if name == "a" else TEXTS[name] for name in TEXTS}
        scores = {
            name: round(float(model.logits([(given["question"], texts[name])])[0]), 4)
            for name in given["finds"]
        }
        best = sorted(scores, key=lambda name: (-scores[name], name))[:3]
        assert ids(outcome) == best
        for rank, context in enumerate(outcome["contexts"], start=1):
            first = given["finds"].index(context["id"]) + 1
            assert context["score"] == scores[context["id"]]
            assert (context["rank"], context["first_rank"]) == (rank, first)
            assert context["first_score"] == round(1 / first, 4)
            assert context["mine"] == context["id"]
        assert outcome["retrieval"]["reranker"] == model.name
    spent = [outcome["retrieval"]["seconds"] for outcome in outcomes]  # type: ignore[index]
    assert spent[0] > spent[2] > spent[1] == 0.5  # by letters
    assert ids(outcomes[0]) != ["a", "b", "c"], "else this says nothing"


def test_scores_of_sure_models_stay_apart(model: CrossEncoder) -> None:
    """The logistic curve would round all of them to 1."""
    pairs = [("Who?", text) for text in TEXTS.values()]
    assert len(set(model.logits(pairs).round(4))) == len(TEXTS)
    expected = 1 / (1 + 2.718281828459045 ** -model.logits(pairs))
    assert model.scores(pairs) == pytest.approx(expected, abs=1e-12)


def test_ties_by_id_and_titles_left_out(model: CrossEncoder) -> None:
    [outcome] = Reranker(Found(), model, 5).process([asked("Who?", "zyx")])
    assert ids(outcome) == ["x", "y", "z"]
    [with_title] = Reranker(Found(), model, 1).process([asked("Who?", "a")])
    [without] = Reranker(Found(), model, 1, titles=False).process([asked("Who?", "a")])
    scores = [outcome["contexts"][0]["score"] for outcome in (with_title, without)]  # type: ignore[index]
    assert scores[1] == round(float(model.logits([("Who?", TEXTS["a"])])[0]), 4) != scores[0]


def test_failures_keep_their_place(model: CrossEncoder) -> None:
    long = asked("why " * 80, "ab")
    records = [asked("Who?", "ab"), asked("", "ab"), long, asked("When?", "ba")]
    first, empty, refused, last = Reranker(Found(), model, 2).process(records)
    assert isinstance(empty, RecordError) and empty.kind == "EmptyQuestion"
    assert isinstance(refused, RecordError) and refused.kind == "QuestionTooLong"
    assert "of the 512 tokens" in str(refused) and "--rerank" in str(refused)
    alone = [next(iter(Reranker(Found(), model, 2).process([records[n]]))) for n in (0, 3)]
    for one, other in zip((first, last), alone, strict=True):
        assert one["contexts"] == other["contexts"]  # type: ignore[index]


def test_the_window_is_that_of_the_first_stage(tmp_path: Path) -> None:
    assert Reranker(Found(), CrossEncoder(tmp_path), 1).window == 7
