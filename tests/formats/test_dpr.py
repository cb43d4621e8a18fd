from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import DataError
from tests.formats.helpers import convert


def item(*passages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"question": "Who?", "answers": ["Ann"], "ctxs": list(passages), **changes}


def test_passages_of_one_article(tmp_path: Path) -> None:
    first = {"title": "A", "text": "One.", "hasanswer": True}
    second = {"title": "A", "text": "Two.", "score": 1.5}
    records, _ = convert("dpr", tmp_path, item(first, second), item(second, id=7))
    contexts = records[0]["contexts"]
    assert contexts[0]["id"] != contexts[1]["id"] == records[1]["contexts"][0]["id"]
    assert contexts[0]["hasanswer"] is True
    assert contexts[1]["score"] == 1.5
    assert [record["id"] for record in records] == ["q1", "7"]
    assert records[0]["answers"] == ["Ann"]
    assert "evidence_gold" not in records[0]  # an answer string is no gold passage


def test_gold_only_where_it_is_marked(tmp_path: Path) -> None:
    gold = {"title": "A", "text": "One.", "isgold": True}
    other = {"title": "A", "text": "Two.", "isgold": False}
    [record], _ = convert("dpr", tmp_path, item(gold, other))
    assert record["evidence_gold"] == [{"id": record["contexts"][0]["id"]}]


def test_given_ids_are_kept_and_told_apart(tmp_path: Path) -> None:
    passages = [
        {"id": 5, "title": "A", "text": "One."},
        {"id": 5, "title": "A", "text": "Two."},
        {"id": 5, "title": "A", "text": "One."},
        {"passage_id": "w:6", "text": "Three."},
    ]
    [record], form = convert("dpr", tmp_path, item(*passages))
    ids = [context["id"] for context in record["contexts"]]
    assert ids[0] == "5"
    assert ids[1].startswith("5#")
    assert ids[2] == "w:6"
    assert sum(form.notes.values()) == 1


def test_hidden_answers_stay_unknown(tmp_path: Path) -> None:
    given = item({"title": "A", "text": "One."})
    del given["answers"]
    [record], _ = convert("dpr", tmp_path, given)
    assert "answers" not in record


def test_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='"ctxs" must be there as a list; keys: question, context'):
        convert("dpr", tmp_path, {"question": "Who?", "context": []})
