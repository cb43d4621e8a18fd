from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.evaluation.comparison import Evaluation, labels_of
from grasp_cli.evaluation.questions import Gold, Questions
from grasp_cli.pipe.errors import DataError

ERROR = {"stage": "answer", "type": "TooSlow", "message": "late", "retryable": True}


def record(identity: str, answer: str | None = None, **more: Any) -> dict[str, Any]:
    given = {} if answer is None else {"answer": answer}
    return {"id": identity, "question": "?", "answers": ["Ann Lee"], **given, **more}


def evaluated(records: list[dict[str, Any]], gold: Any = None) -> Evaluation:
    evaluation = Evaluation("x", gold)
    for item in records:
        evaluation.add(item)
    evaluation.finish()
    return evaluation


def test_failures_and_missing_answers_count_as_nothing() -> None:
    row = evaluated(
        [
            record("1", "Ann Lee"),
            record("2", "Ann"),
            record("3", "Ann Lee", error=ERROR),
            record("4"),
            {**record("5"), "answer": None},
        ]
    ).row()
    assert (row["n"], row["failed"], row["missing"]) == (5, 1, 2)
    assert row["em"] == pytest.approx(1 / 5)
    assert row["f1"] == pytest.approx((1 + 2 / 3) / 5, abs=1e-4)


def test_gold_gives_the_denominator_and_what_records_lack() -> None:
    gold = Gold([{**record(str(n)), "evidence_gold": [{"id": "d"}]} for n in range(4)])
    bare = {"id": "0", "question": "?", "answer": "Ann Lee", "contexts": [{"id": "d", "text": "x"}]}
    own = {**bare, "id": "1", "answers": ["Bob"]}
    evaluation = evaluated([bare, own, record("9", "Ann Lee")], gold)
    row = evaluation.row()
    assert (row["n"], row["missing"]) == (4, 2)
    assert row["em"] == 0.25  # the record's own answers go before
    assert row["evidence_recall"] == 0.5
    assert row["evidence_recall_present"] == 1
    assert [count for note, count in evaluation.notes.items() if "--gold" in note] == [1]


def test_records_without_gold_have_no_score() -> None:
    evaluation = evaluated([record("1", "Ann Lee"), {"id": "2", "question": "?", "answer": "x"}])
    assert evaluation.row()["n"] == 2
    assert evaluation.row()["em"] == 1
    assert [count for note, count in evaluation.notes.items() if "no gold" in note] == [1]


def test_scores_are_added_and_failures_left_alone() -> None:
    evaluation = Evaluation("x")
    failed = record("1", error=ERROR)
    assert evaluation.add(failed) == failed
    given = record("2", "Ann", extra=1)
    scored = evaluation.add(given)
    assert scored == {
        **given,
        "scores": {"em": 0.0, "contains": 0.0, "f1": 0.6667, "rouge_l": 0.6667},
    }
    assert "scores" not in given


def test_costs() -> None:
    def compressed(identity: str, tokens_out: int, seconds: float) -> dict[str, Any]:
        compression = {"tokens_in": 200, "tokens_out": tokens_out, "seconds": seconds}
        return record(
            identity,
            "x",
            compression=compression,
            retrieval={"seconds": 0.5},
            reader={"seconds": 2 * seconds},
        )

    row = evaluated([compressed("1", 50, 1), compressed("2", 150, 3), record("3", "x")]).row()
    assert row["removed"] == 0.5  # the mean over the two records that were compressed
    assert row["seconds_compress"] == 2
    assert row["seconds_answer"] == 4
    assert row["seconds_retrieve"] == 0.5
    assert evaluated([record("1", "x", contexts=[])]).row()["removed"] is None
    empty = {"tokens_in": 0, "tokens_out": 0}
    assert evaluated([record("1", "x", compression=empty)]).row()["removed"] is None


def test_a_question_that_is_another_one_elsewhere_is_an_error() -> None:
    questions = Questions()
    Evaluation("a", None, questions).add(record("1", "x"), file="none.jsonl")
    other = Evaluation("b", None, questions)
    other.add({**record("1", "x"), "question": " ? "}, file="same.jsonl")
    with pytest.raises(DataError, match=r'"1": its question is "\?" in none.* "Who\?" in grasp'):
        other.add({**record("1", "x"), "question": "Who?"}, file="grasp.jsonl")
    gold = Gold()
    gold.add([record("1")], file="gold.jsonl")
    with pytest.raises(DataError, match=r"gold\.jsonl but .* in grasp\.jsonl"):
        Evaluation("c", gold).add({**record("1"), "question": "Who?"}, file="grasp.jsonl")


def test_datasets_are_those_of_the_records_else_of_the_file_else_of_the_gold() -> None:
    gold = Gold([record("1"), record("2", dataset="b"), record("3", dataset="b")])
    gold.add([record("1")], dataset="a")
    evaluation = Evaluation("x", gold)
    for given in (record("1", "x", dataset="a"), record("2", "Ann Lee")):
        evaluation.add(given)
    evaluation.add({**record("9", "x"), "dataset": "c"}, dataset="b")  # not expected
    evaluation.finish()
    counts = {name: (part.n, part.missing) for name, part in evaluation.own.items()}
    assert counts == {"a": (1, 0), "b": (2, 1), "": (1, 1)}
    assert evaluation.own["b"].row()["em"] == 0.5
    assert evaluation.row()["n"] == 4


def test_gold_of_a_dataset_without_a_file_is_not_expected() -> None:
    gold = Gold([record("1")], dataset="a")
    gold.add([record("1"), record("2")], dataset="b")
    evaluation = Evaluation("x", gold)
    evaluation.expect("b")
    evaluation.add(record("2", "Ann Lee"), dataset="b")
    evaluation.finish()
    assert evaluation.row()["n"] == 2
    assert list(evaluation.own) == ["b"]


def test_one_question_counts_once_under_a_label() -> None:
    evaluation = Evaluation("x")
    evaluation.add(record("1", "x"), file="a.jsonl")
    evaluation.add(record("1", "x"), dataset="other")
    with pytest.raises(DataError, match=r'b\.jsonl: record "1" came before'):
        evaluation.add(record("1", "x"), file="b.jsonl")


def test_evidence_of_written_contexts_is_not_known_even_where_a_record_failed() -> None:
    gold = {"contexts": [{"id": "d", "text": "abc"}], "evidence_gold": [{"id": "d"}]}
    written = record("1", "x", evidence=[], compression={"verbatim": False}, context="", **gold)
    failed = record("2", error=ERROR, **gold)
    row = evaluated([written, failed]).row()
    assert (row["evidence_recall"], row["citation"], row["all_gold"]) == (None, None, None)
    assert (row["n"], row["failed"], row["em"]) == (2, 1, 0)
    verbatim = {**written, "compression": {}}
    assert evaluated([verbatim, failed]).row()["evidence_recall"] == 0


def test_full_contexts_have_a_row_of_their_own() -> None:
    both = record(
        "1",
        "x",
        answer_full="Ann Lee",
        contexts=[{"id": "d", "text": "abc"}],
        evidence=[],
        evidence_gold=[{"id": "d"}],
        compression={"tokens_in": 10, "tokens_out": 5, "seconds": 1},
        reader={"seconds": 1},
        reader_full={"seconds": 3},
    )
    small, full = evaluated([both, record("2", error=ERROR)]).rows()
    assert (small["em"], full["em"]) == (0, 0.5)
    assert (small["evidence_recall"], full["evidence_recall"]) == (0, 1)
    assert (small["removed"], full["removed"]) == (0.5, None)
    assert (small["seconds_answer"], full["seconds_answer"]) == (1, 3)
    assert full["seconds_compress"] is None
    assert (full["n"], full["failed"]) == (2, 1)
    assert len(evaluated([record("1", "x")]).rows()) == 1


def test_labels() -> None:
    paths = [Path("a/x.jsonl.gz"), Path("b/x.jsonl"), Path("y.v1.jsonl"), Path("-")]
    assert labels_of(paths, []) == ["a/x", "b/x", "y.v1", "stdin"]
    assert labels_of(paths, ["none"]) == ["none", "b/x", "y.v1", "stdin"]
