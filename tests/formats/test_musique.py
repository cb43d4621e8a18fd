from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import DataError
from tests.formats.helpers import convert


def item(**changes: Any) -> dict[str, Any]:
    paragraphs = [
        {"idx": 0, "title": "A", "paragraph_text": "One.", "is_supporting": True},
        {"idx": 1, "title": "A", "paragraph_text": "Two.", "is_supporting": False},
        {"idx": 2, "title": "B", "paragraph_text": "Three.", "is_supporting": True},
    ]
    return {
        "id": "2hop__1",
        "question": "Who?",
        "answer": "Ann",
        "answer_aliases": ["Anna", "Ann"],
        "answerable": True,
        "paragraphs": paragraphs,
        **changes,
    }


def test_paragraphs_of_one_title_have_ids_of_their_own(tmp_path: Path) -> None:
    [record, other], _ = convert(
        "musique", tmp_path, item(), item(id="x", paragraphs=item()["paragraphs"][1:])
    )
    ids = [context["id"] for context in record["contexts"]]
    assert len(set(ids)) == 3
    assert [identity.split("#")[0] for identity in ids] == ["A", "A", "B"]
    assert [context["id"] for context in other["contexts"]] == ids[1:]
    assert record["evidence_gold"] == [{"id": ids[0]}, {"id": ids[2]}]
    assert record["answers"] == ["Ann", "Anna"]
    assert [context["text"] for context in record["contexts"]] == ["One.", "Two.", "Three."]


def test_a_question_without_an_answer(tmp_path: Path) -> None:
    unanswerable, hidden = item(answerable=False), item(id="h")
    del hidden["answer"]
    records, _ = convert("musique", tmp_path, unanswerable, hidden)
    assert records[0]["answers"] == []
    assert "answers" not in records[1]


def test_hidden_support_is_no_gold(tmp_path: Path) -> None:
    [record], _ = convert(
        "musique", tmp_path, item(paragraphs=[{"title": "A", "paragraph_text": "One."}])
    )
    assert "evidence_gold" not in record


def test_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'paragraphs\[0\]: "paragraph_text" must be there'):
        convert("musique", tmp_path, item(paragraphs=[{"title": "A"}]))
    with pytest.raises(DataError, match=r"paragraphs\[0\]: must be an object"):
        convert("musique", tmp_path, item(paragraphs=["A"]))
