from __future__ import annotations

import pytest

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import to_document, to_record


def test_aliases_are_renamed_in_place_and_not_doubled() -> None:
    record = to_record({"a": 1, "_id": "x", "query": "q", "ctxs": ["t"], "z": 2}, "f:1", 1)
    assert list(record) == ["a", "id", "question", "contexts", "z"]


def test_a_name_and_its_alias_together_leave_the_alias_alone() -> None:
    record = to_record({"id": "x", "qid": "y", "question": "q", "query": "other"}, "f:1", 1)
    assert record == {"id": "x", "qid": "y", "question": "q", "query": "other"}


def test_two_aliases_of_one_name_rename_the_first_listed_only() -> None:
    record = to_record({"custom_id": "c", "_id": "x", "question": "q"}, "f:1", 1)
    assert record == {"custom_id": "c", "id": "x", "question": "q"}


def test_a_missing_id_is_named_after_the_line_and_an_integer_becomes_text() -> None:
    assert to_record({"question": "q"}, "f:7", 7)["id"] == "q7"
    assert to_record({"question": "q", "id": 12}, "f:1", 1)["id"] == "12"
    assert to_document({"text": "t"}, "f:2", 2)["id"] == "d2"


def test_bare_strings_are_contexts_with_their_positions_as_ids() -> None:
    record = to_record(
        {"question": "q", "contexts": ["a", {"contents": "b", "url": "u"}]}, "f:1", 1
    )
    assert record["contexts"] == [{"id": "0", "text": "a"}, {"id": "1", "text": "b", "url": "u"}]


def test_paragraph_text_is_an_alias_and_unknown_keys_survive() -> None:
    record = to_record(
        {"question": "q", "passages": [{"id": 3, "paragraph_text": "b", "score": None}]}, "f:1", 1
    )
    assert record["contexts"] == [{"id": "3", "text": "b", "score": None}]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([{"id": "1"}], "jq -c"),
        ("text", "must be a JSON object"),
        ({"id": "1"}, '"question"'),
        ({"id": "1", "question": 5}, '"question"'),
        ({"id": True, "question": "q"}, '"id"'),
        ({"question": "q", "contexts": "abc"}, "must be a list"),
        ({"question": "q", "contexts": [5]}, "contexts[0]"),
        ({"question": "q", "contexts": [{"id": "a"}]}, 'contexts[0] needs "text"'),
        ({"question": "q", "contexts": [{"id": "a", "text": "t", "title": 5}]}, '"title"'),
        ({"question": "q", "contexts": [{"id": "a", "text": ""}] * 2}, "share the id"),
        ({"question": "q", "answers": "yes"}, '"answers" must be a list'),
    ],
)
def test_what_is_refused_says_where_and_why(value: object, told: str) -> None:
    with pytest.raises(DataError) as caught:
        to_record(value, "file.jsonl:3", 3)
    assert str(caught.value).startswith("file.jsonl:3") and told in str(caught.value)


def test_an_error_is_an_object_and_null_is_none() -> None:
    failed = {"id": "1", "question": "x", "error": {"stage": "answer", "message": "late"}}
    assert to_record(failed, "f:1", 1) == failed
    assert to_record({**failed, "error": None}, "f:1", 1) == {"id": "1", "question": "x"}
    with pytest.raises(DataError, match='f:1: "error" must be an object'):
        to_record({**failed, "error": "late"}, "f:1", 1)
