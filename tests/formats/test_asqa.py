from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.formats import load_format
from grasp_cli.formats.passages import passage_id
from grasp_cli.pipe.errors import DataError, UsageError
from tests.formats.helpers import convert

ITEM = {
    "ambiguous_question": "When did the mill open?",
    "qa_pairs": [
        {
            "question": "When did the first mill open?",
            "short_answers": ["1874", "in 1874", "1874"],
            "context": "It opened in 1874.",
            "wikipage": "Old Mill",
        },
        {
            "question": "When did the second mill open?",
            "short_answers": ["1901"],
            "context": "No context provided",
            "wikipage": None,
        },
    ],
    "wikipages": [{"title": "Old Mill", "url": "https://example.org"}],
    "annotations": [
        {
            "long_answer": "The first in 1874, the second in 1901.",
            "knowledge": [
                {"content": "It opened in 1874.", "wikipage": "Old Mill"},
                {"content": "A second one came in 1901.", "wikipage": None},
            ],
        },
        {"long_answer": "In 1874 and 1901.", "knowledge": []},
    ],
}
FIRST = passage_id("Old Mill", "It opened in 1874.")
SECOND = passage_id("", "A second one came in 1901.")
RECORD = {
    "id": "7",
    "question": "When did the mill open?",
    "answers": ["The first in 1874, the second in 1901.", "In 1874 and 1901."],
    "qa_pairs": [
        {"question": "When did the first mill open?", "short_answers": ["1874", "in 1874"]},
        {"question": "When did the second mill open?", "short_answers": ["1901"]},
    ],
    "contexts": [
        {"id": FIRST, "title": "Old Mill", "text": "It opened in 1874."},
        {"id": SECOND, "title": "", "text": "A second one came in 1901."},
    ],
    "evidence_gold": [{"id": FIRST}, {"id": SECOND}],
}


def published(folder: Path, value: Any, split: str | None = None) -> list[dict[str, Any]]:
    path = folder / "ASQA.json"
    path.write_text(json.dumps(value))
    given = {} if split is None else {"split": split}
    return list(load_format("asqa", **given).records(path))


def test_every_layout_gives_the_same_record(tmp_path: Path) -> None:
    assert convert("asqa", tmp_path, {**ITEM, "sample_id": 7})[0] == [RECORD]
    assert published(tmp_path, {"7": ITEM}) == [RECORD]
    assert published(tmp_path, {"dev": {"7": ITEM}}) == [RECORD]
    both = {"train": {"1": ITEM, "2": ITEM}, "dev": {"7": ITEM}}
    assert published(tmp_path, both, "dev") == [RECORD]
    assert [record["id"] for record in published(tmp_path, both, "train")] == ["1", "2"]


def test_splits_that_must_be_named_or_are_not_there(tmp_path: Path) -> None:
    both = {"train": {"1": ITEM}, "dev": {"7": ITEM}}
    with pytest.raises(UsageError, match=r"ASQA.json:1: choose one of the splits train, dev with"):
        published(tmp_path, both)
    with pytest.raises(DataError, match='no split "test"; there are train, dev'):
        published(tmp_path, both, "test")
    with pytest.raises(DataError, match=r'"qa_pairs" must be there as a list; keys: question'):
        published(tmp_path, {"question": "?", "context": {}})
    assert published(tmp_path, {"dev": {}}) == []


def test_retrieved_passages_are_the_contexts(tmp_path: Path) -> None:
    docs = [{"id": "31", "title": "Old Mill", "text": "A mill.", "score": 9.5}, {"text": "x"}]
    item = {**ITEM, "question": ITEM["ambiguous_question"], "sample_id": "7", "docs": docs}
    del item["ambiguous_question"]
    ((record,), _) = convert("asqa", tmp_path, item)
    assert record["contexts"] == [docs[0], {"text": "x", "id": passage_id("", "x"), "title": ""}]
    assert "evidence_gold" not in record
    assert record["qa_pairs"] == RECORD["qa_pairs"]


def test_without_annotations_there_are_no_answers(tmp_path: Path) -> None:
    item = {key: ITEM[key] for key in ("ambiguous_question", "qa_pairs")}
    ((record,), _) = convert("asqa", tmp_path, item)
    assert (record["id"], "answers" in record, len(record["contexts"])) == ("q1", False, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qa_pairs": [{"question": "?"}]}, r'qa_pairs\[0\]: "short_answers" must be there'),
        ({"ambiguous_question": 3}, '"ambiguous_question" must be there as a string'),
        ({"annotations": [{}]}, r'annotations\[0\]: "long_answer" must be there'),
    ],
)
def test_what_does_not_fit(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert("asqa", tmp_path, {**ITEM, **change})
