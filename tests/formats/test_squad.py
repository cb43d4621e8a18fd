from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import DataError
from tests.formats.helpers import convert

TEXT = "Ann met Bob. Ann left."


def article(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"title": "Ann_%26_Bob", "paragraphs": [{"context": TEXT, "qas": list(questions)}]}


def question(identity: str, *answers: tuple[str, int]) -> dict[str, Any]:
    given = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": identity, "question": "Who?", "answers": given}


def test_questions_share_their_paragraph(tmp_path: Path) -> None:
    asked = [question("1", ("Bob", 8), ("Bob", 8), ("Ann met Bob", 0)), question("2", ("Ann", 13))]
    data = {"version": "1.1", "data": [article(*asked)]}
    records, form = convert("squad", tmp_path, data)
    assert [record["id"] for record in records] == ["1", "2"]
    assert records[0]["contexts"] == records[1]["contexts"]
    [context] = records[0]["contexts"]
    assert context["title"] == "Ann & Bob"
    assert context["text"] == TEXT
    assert records[0]["answers"] == ["Bob", "Ann met Bob"]
    assert records[0]["evidence_gold"] == [
        {"id": context["id"], "start": 8, "end": 11, "text": "Bob"},
        {"id": context["id"], "start": 0, "end": 11, "text": "Ann met Bob"},
    ]
    assert records[1]["evidence_gold"][0]["start"] == 13
    assert not form.notes


def test_articles_one_by_one(tmp_path: Path) -> None:
    records, _ = convert("squad", tmp_path, article(question("1")), article(question("2")))
    assert [record["id"] for record in records] == ["1", "2"]


def test_wrong_offsets(tmp_path: Path) -> None:
    asked = [question("1", ("Ann", 11)), question("2", ("Eve", 0)), question("3", (" Bob. ", 7))]
    records, form = convert("squad", tmp_path, article(*asked))
    assert records[0]["evidence_gold"][0]["start"] == 13  # nearest to 11
    assert records[1]["evidence_gold"] == [{"id": records[1]["contexts"][0]["id"]}]
    assert records[2]["evidence_gold"][0]["text"] == "Bob."
    assert sorted(form.notes.values()) == [1, 1]


def test_unanswerable_and_hidden(tmp_path: Path) -> None:
    records, _ = convert("squad", tmp_path, article(question("1"), {"id": "2", "question": "Who?"}))
    assert records[0]["answers"] == []
    assert "answers" not in records[1]


def test_errors_lead_to_the_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'json:1: data\[0\].paragraphs\[0\].qas\[0\]: "question"'):
        convert("squad", tmp_path, {"data": [article({"id": "1"})]})
