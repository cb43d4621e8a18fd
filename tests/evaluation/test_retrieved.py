"""Records to rankings, and what counts in the mean."""

from __future__ import annotations

from typing import Any

import pytest

from grasp_cli.evaluation.ranking import ranking_scores
from grasp_cli.evaluation.retrieved import (
    Judgement,
    RankingEvaluation,
    document_ranking,
    gold_judgement,
)
from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.pipe.errors import DataError

ERROR = {"stage": "retrieve", "type": "TooSlow", "message": "late", "retryable": True}


def record(identity: str, *documents: str, **more: Any) -> dict[str, Any]:
    contexts = [{"id": name, "text": "x"} for name in documents]
    return {"id": identity, "question": "Who?", "contexts": contexts, **more}


def gold(*documents: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in documents]


def evaluated(records: list[dict[str, Any]], **options: Any) -> RankingEvaluation:
    evaluation = RankingEvaluation("x", **options)
    for item in records:
        evaluation.add(item)
    evaluation.finish()
    return evaluation


def remarks(evaluation: RankingEvaluation) -> dict[str, int]:
    """Counts of the notes, by their first words."""
    return {" ".join(note.split()[:4]): count for note, count in (+evaluation.notes).items()}


def test_gold_documents_of_the_record() -> None:
    scored = RankingEvaluation("x", cutoffs=(1, 2)).add(
        record("q", "a", "b", "c", evidence_gold=gold("b", "z"), mine=1)
    )
    assert scored["mine"] == 1
    expected = ranking_scores(["a", "b", "c"], {"b": 1, "z": 1}, (1, 2))
    assert scored["scores"] == {name: round(value, 4) for name, value in expected.items()}
    assert scored["scores"]["recall@2"] == 0.5


def test_a_document_stands_where_its_first_passage_does() -> None:
    contexts = [
        {"id": "a#0", "doc_id": "a", "text": "x"},
        {"id": "a#1", "doc_id": "a", "text": "y"},
        {"id": "b", "text": "z"},
    ]
    assert document_ranking(contexts) == ["a", "b"]


def test_sentences_of_one_document_are_one_and_the_highest_grade_counts() -> None:
    pieces = [{"id": "a", "start": 0, "end": 3}, {"id": "a", "relevance": 2}, {"id": "b"}]
    found = gold_judgement({"id": "q", "evidence_gold": pieces})
    assert found == Judgement({"a": 2, "b": 1})


def test_gold_titles() -> None:
    contexts = [
        {"id": "1", "title": "Orl", "text": "x"},
        {"id": "2", "title": "Orl", "text": "y"},
        {"id": "3", "text": "z"},
        {"id": "4", "text": "z"},
        {"id": "5", "title": "Tove", "text": "z"},
    ]
    item = {"id": "q", "question": "?", "gold_titles": ["Tove", "Leith"], "contexts": contexts}
    [row] = evaluated([item], cutoffs=(5,)).rows()
    assert (row["mrr"], row["recall@5"]) == (0.25, 0.5)  # Orl, 3, 4, Tove
    both = {**item, "evidence_gold": gold("3")}
    assert gold_judgement(both) == Judgement({"3": 1})


def test_failed_empty_and_missing_questions_count_as_0() -> None:
    qrels = {name: {"a": 1} for name in ("1", "2", "3", "4", "5")}
    records = [
        record("1", "a"),
        record("2", "a", error=ERROR),
        record("3"),
        {"id": "4", "question": "?"},
        record("not judged", "a"),
    ]
    evaluation = evaluated(records, qrels=qrels, cutoffs=(1,))
    [row] = evaluation.rows()
    assert (row["n"], row["failed"], row["missing"]) == (5, 1, 3)
    assert {row[name] for name in ("recall@1", "hit@1", "mrr", "ndcg@10", "map")} == {0.2}
    assert remarks(evaluation) == {"records are not judged": 1}
    assert evaluation.add(records[1]) is records[1]
    assert evaluation.add(records[4]) is records[4]


def test_gold_file_decides_which_judged_questions_count() -> None:
    qrels = {name: {"a": 1} for name in "123456789"}
    expected = {"1": None, "2": None, "none": None}
    evaluation = evaluated([record("1", "a"), record("3", "a")], qrels=qrels, gold=expected)
    [row] = evaluation.rows()
    assert (row["n"], row["missing"], row["mrr"]) == (2, 1, 0.5)
    assert remarks(evaluation)["questions of --gold are"] == 1
    assert remarks(evaluation)["records are not among"] == 1


def test_gold_file_gives_what_records_lack() -> None:
    expected = {"1": Judgement({"a": 1}), "2": Judgement({"a": 1}), "3": None}
    records = [record("1", "b", "a"), record("3", "c", evidence_gold=gold("c"))]
    [row] = evaluated(records, gold=expected).rows()
    assert (row["n"], row["missing"], row["mrr"]) == (3, 1, 0.5)


def test_means_and_intervals() -> None:
    records = [record(str(n), *"abcdefgh"[: n % 9], evidence_gold=gold("c")) for n in range(40)]
    [row] = evaluated(records, cutoffs=(5,)).rows()
    values = [1 / 3 if n % 9 >= 3 else 0.0 for n in range(40)]
    low, high = mean_interval(values)
    assert row["mrr"] == round(sum(values) / 40, 4)
    assert (row["mrr_low"], row["mrr_high"]) == pytest.approx((low, high), abs=1e-4)
    assert row["mrr_low"] < row["mrr"] < row["mrr_high"]


def test_remarks() -> None:
    nothing = evaluated([record("1", "x", evidence_gold=gold("a"))])
    assert remarks(nothing) == {"questions, all of them,": 1, "contexts at most in": 1}
    some = evaluated([record("1", *"abcde"), record("2", "x")], qrels={"1": {"a": 1, "b": 0}})
    assert remarks(some) == {"contexts at most in": 5, "records are not judged": 1}
    grade_0 = evaluated([record("1", *"ab")], qrels={"1": {"b": 1}, "2": {"a": 0}}, cutoffs=(2,))
    assert remarks(grade_0) == {"questions have no relevant": 1}
    assert evaluated([]).rows()[0]["map"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r'nothing says what is relevant to record "q1" or any other; give --qrels'),
        ({"qrels": {"nq0": {"a": 1}}}, r'none .* is judged .* like "q1", .* like "nq0"'),
        ({"qrels": {}}, r'like "q1", those of --qrels like "none"'),
        ({"qrels": {"z": {"a": 1}}, "gold": {"q1": None}}, r'like "q1", .* like "z"'),
    ],
)
def test_ids_that_match_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluated([record("q1", "a")], **options)


@pytest.mark.parametrize(
    "wrong",
    [
        {"evidence_gold": ["a"]},
        {"evidence_gold": [{"title": "a"}]},
        {"evidence_gold": [{"id": "a", "relevance": 0.5}]},
        {"gold_titles": "Orl"},
        {"gold_titles": [1]},
    ],
)
def test_gold_that_cannot_be_read(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r'record "q1": "(evidence_gold|gold_titles)" must be'):
        evaluated([record("q1", "a", **wrong)])
