from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.evaluation.retained import answer_kept, is_verbatim, retained, within_budget
from grasp_cli.text.answers import holds, tokens

CONTEXTS = [
    {"id": "a", "title": "Old Leith", "text": "Ann Lee was born in the U.S. in 1911."},
    {"id": "b", "text": "Bob stayed."},
]


def record(context: str | None, answers: Any, **more: Any) -> dict[str, Any]:
    given = {} if context is None else {"context": context}
    return {"id": "1", "question": "?", "contexts": CONTEXTS, "answers": answers, **given, **more}


@pytest.mark.parametrize(
    ("context", "answers", "kept"),
    [
        ("Ann Lee was born.", ["Ann Lee"], True),
        ("Bob stayed.", ["ann lee"], False),
        ("born in US", ["U.S."], True),
        ("Bob stayed.", ["US", "Bob"], True),  # one of them is enough
        ("Old Leith\nBob stayed.", ["Leith"], True),  # titles are text, too
        ("Bob stayed.", ["Leith"], False),
        ("Cy Fox", ["Cy Fox"], None),  # it was never there
        ("yes", ["yes"], None),
        ("Bob stayed.", [], None),
        ("Bob stayed.", None, None),
        ("Bob stayed.", ["The"], None),
    ],
)
def test_answer_kept(context: str, answers: Any, kept: bool | None) -> None:
    assert answer_kept(record(context, answers)) is kept


def test_a_failed_record_kept_no_answer() -> None:
    assert retained(record(None, ["Bob"], error={}), failed=True) == {"answer_kept": 0}
    assert retained(record(None, ["Cy"], error={}), failed=True) == {}


def test_nothing_is_said_of_what_was_not_compressed() -> None:
    assert retained(record(None, ["Bob"], evidence=[])) == {}


def entry(**changes: Any) -> dict[str, Any]:
    return {"context": "b", "start": 0, "end": 3, "text": "Bob", **changes}


@pytest.mark.parametrize(
    ("entries", "held"),
    [
        ([entry()], True),
        ([], True),
        ([entry(), entry(text="bob")], False),
        ([entry(end=4)], False),
        ([entry(start=-11, end=-8)], False),
        ([entry(start=3, text="")], False),
        ([entry(context="gone")], False),
        ([entry(context=["b"])], False),
        (["text"], False),
        ([{"context": "b"}], False),
    ],
)
def test_verbatim(entries: list[Any], held: bool) -> None:
    assert is_verbatim(record("x", [], evidence=entries)) is held
    assert retained(record("x", [], evidence=entries)) == {"verbatim": held}


def test_what_a_model_wrote_is_not_checked() -> None:
    written = record("x", [], evidence=[], compression={"verbatim": False})
    assert is_verbatim(written) is None
    assert is_verbatim(record("x", [])) is None


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ({"max_tokens": 5, "tokens_out": 5}, True),
        ({"max_tokens": 5, "tokens_out": 6}, False),
        ({"tokens_out": 6}, None),
        ("gzip", None),
    ],
)
def test_budget(said: Any, held: bool | None) -> None:
    assert within_budget(record("x", [], compression=said)) is held


PARTS = st.lists(st.sampled_from(["ann", "Ann's", "the", "US", "U.S.", "b", "北京", "é"]))


@given(text=PARTS.map(" ".join), wanted=PARTS.map(" ".join))
def test_runs_of_tokens(text: str, wanted: str) -> None:
    part, whole = tokens(wanted), tokens(text)
    naive = any(whole[at : at + len(part)] == part for at in range(len(whole)))
    assert holds(text, part) == (naive and bool(part))
