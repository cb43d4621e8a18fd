from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import DataError
from tests.formats.helpers import convert


def item(**changes: Any) -> dict[str, Any]:
    return {
        "_id": "5a",
        "question": "Who?",
        "answer": "Ann",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["A", 1]],
        "context": [["A", ["Ann was born.", " She sang."]], ["B", ["Bob."]]],
        **changes,
    }


def test_a_question(tmp_path: Path) -> None:
    [record], form = convert("hotpotqa", tmp_path, item())
    assert record == {
        "id": "5a",
        "question": "Who?",
        "answers": ["Ann"],
        "contexts": [
            {"id": "A", "title": "A", "text": "Ann was born. She sang."},
            {"id": "B", "title": "B", "text": "Bob."},
        ],
        "evidence_gold": [{"id": "A", "start": 14, "end": 23, "text": "She sang."}],
        "type": "bridge",
        "level": "hard",
    }
    assert not +form.notes


def test_sentences_are_joined_as_they_come_or_with_a_space(tmp_path: Path) -> None:
    own = [["A", ["Chak 86/6.", "R is a village.", " It is old."]]]
    bare = [["A", ["Ann was born.", "She sang."]], ["B", ["Bob."]]]
    records, _ = convert("hotpotqa", tmp_path, item(_id="1", context=own), item(context=bare))
    assert records[0]["contexts"][0]["text"] == "Chak 86/6.R is a village. It is old."
    assert records[0]["evidence_gold"][0]["text"] == "R is a village."
    assert records[1]["contexts"][0]["text"] == "Ann was born. She sang."
    assert records[1]["evidence_gold"][0]["text"] == "She sang."


@pytest.mark.parametrize(
    ("facts", "gold", "remark"),
    [
        ([["A", 7]], [{"id": "A"}], "a sentence that is not there"),
        ([["A", -1]], [{"id": "A"}], "a sentence that is not there"),
        ([["C", 0], ["C", 1]], [{"id": "C"}], "a document that is not among the contexts"),
    ],
)
def test_facts_without_a_place_are_kept_as_documents(
    tmp_path: Path, facts: list[Any], gold: list[Any], remark: str
) -> None:
    [record], form = convert("hotpotqa", tmp_path, item(supporting_facts=facts))
    assert record["evidence_gold"] == gold
    [(note, count)] = form.notes.items()
    assert remark in note
    assert count == len(facts)


def test_blank_sentences_hold_no_evidence(tmp_path: Path) -> None:
    context = [["A", ["Ann.", " ", " She sang."]]]
    facts = [["A", 1], ["A", 2]]
    [record], _ = convert("hotpotqa", tmp_path, item(context=context, supporting_facts=facts))
    text = record["contexts"][0]["text"]
    assert record["evidence_gold"][0] == {"id": "A"}
    assert (
        text[slice(*(record["evidence_gold"][1][key] for key in ("start", "end")))] == "She sang."
    )


def test_equal_titles(tmp_path: Path) -> None:
    context = [["A", ["One."]], ["A", ["Two.", " Three."]], ["A", ["One."]]]
    records, form = convert(
        "hotpotqa", tmp_path, item(context=context), item(_id="2", context=context[1:2])
    )
    ids = [context["id"] for context in records[0]["contexts"]]
    assert ids[0] == "A"
    assert len(ids) == 2
    assert ids[1].startswith("A#")
    assert records[1]["contexts"][0]["id"] == ids[1]  # the same passage, the same id
    assert records[0]["evidence_gold"] == [
        {"id": ids[1], "start": 5, "end": 11, "text": "Three."}  # the one that has a sentence 1
    ]
    assert sum(form.notes.values()) == 1


def test_without_gold(tmp_path: Path) -> None:
    given = item()
    del given["answer"], given["supporting_facts"], given["level"]
    [record], _ = convert("hotpotqa", tmp_path, given)
    assert {"answers", "evidence_gold", "level"}.isdisjoint(record)
    assert record["type"] == "bridge"


def test_columns_of_the_hub(tmp_path: Path) -> None:
    columns = item(
        context={"title": ["A", "B"], "sentences": [["Ann was born.", " She sang."], ["Bob."]]},
        supporting_facts={"title": ["A"], "sent_id": [1]},
    )
    assert convert("hotpotqa", tmp_path, columns)[0] == convert("hotpotqa", tmp_path, item())[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": None}, r'input.json:1: "context" must be there as a list'),
        ({"context": [["A"]]}, r"context\[0\] must be a pair"),
        ({"context": [["A", [1]]]}, r"context\[0\] must be a pair"),
        ({"question": 3}, '"question" must be there as a string; keys: _id, question'),
    ],
)
def test_another_shape_is_refused(tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert("hotpotqa", tmp_path, item(**changes))
