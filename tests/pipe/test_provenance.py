"""Offsets of contexts and offsets of documents, for texts whose parts are not adjacent there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.provenance import (
    PART_GAP,
    document_spans,
    has_source,
    is_stated,
    local_spans,
    parts,
)

TEXT = "One is here. Two was there. Three came. Four went. Five stays."
NODE = {
    "id": "d@7",
    "doc_id": "d",
    "source": [
        {"doc_id": "d", "start": 0, "end": 12},
        {"doc_id": "d", "start": 28, "end": 50},
    ],
    "text": TEXT[0:12] + PART_GAP + TEXT[28:50],
}


def test_a_node_of_two_parts() -> None:
    assert [(p.start, p.end, p.offset) for p in parts(NODE)] == [(0, 12, 0), (14, 36, 28)]
    assert list(document_spans(NODE, 4, 20)) == [("d", 4, 12), ("d", 28, 34)]
    assert list(document_spans(NODE, 12, 14)) == []
    assert list(local_spans(NODE, 10, 30)) == [(10, 12), (14, 16)]
    assert has_source(NODE) and is_stated(NODE)


def test_a_passage_and_a_document() -> None:
    passage = {"id": "d#1", "doc_id": "d", "start": 13, "end": 27, "text": TEXT[13:27]}
    assert list(document_spans(passage, 2, 5)) == [("d", 15, 18)]
    assert list(local_spans(passage, 0, 15)) == [(0, 2)]
    assert list(document_spans({"id": "d", "text": TEXT}, 2, 5)) == [("d", 2, 5)]
    assert is_stated(passage) and is_stated({"id": "d", "text": TEXT})
    assert not is_stated({"id": "p", "doc_id": "d", "text": TEXT})
    assert not has_source(passage)


@pytest.mark.parametrize(
    "source",
    [
        "wikipedia",
        ["wikipedia"],
        [],
        [{"doc_id": "d", "start": 0, "end": 5}],
        [{"doc_id": "d", "start": 5, "end": 5}],
        [{"doc_id": 3, "start": 0, "end": 36}],
        [{"doc_id": "d", "start": None, "end": 36}],
    ],
)
def test_a_source_that_means_something_else_says_nothing(source: Any) -> None:
    context = {**NODE, "source": source, "start": 100}
    assert not has_source(context)
    assert list(document_spans(context, 1, 2)) == [("d", 101, 102)]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=5), st.data())
def test_every_character_maps_to_itself(pieces: list[tuple[int, int]], data: Any) -> None:
    """Offsets by hand: a table of characters, one by one."""
    document = "".join(chr(0x4E00 + n) for n in range(80))
    source, cursor = [], 0
    for gap, length in pieces:
        start = cursor + gap
        cursor = start + length
        source.append({"doc_id": "d", "start": start, "end": cursor})
    text = PART_GAP.join(document[s["start"] : s["end"]] for s in source)
    context = {"id": "x", "doc_id": "d", "source": source, "text": text}
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    mapped = "".join(document[s:e] for _, s, e in document_spans(context, start, end))
    assert mapped == text[start:end].replace("\n", "")
    wanted = {c for s in source for c in document[s["start"] : s["end"]]} & set(document[:40])
    assert set("".join(text[s:e] for s, e in local_spans(context, 0, 40))) == wanted
