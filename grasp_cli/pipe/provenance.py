"""Where the text of a context stands in documents.

A passage stands at `start` of the document `doc_id`, and what has neither is a document itself. A
node of a tree (`grasp retrieve --mode tree`) can be made of sentences that do not stand side by
side: its `source` is a list of {doc_id, start, end}, and its text is those slices of the document,
in order, with `PART_GAP` between them. A `source` that does not fit the text is somebody else's key
and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from grasp_cli.pipe.records import Record

PART_GAP = "\n\n"  # a blank line always parts sentences


class Part(NamedTuple):
    """text[start:end] of a context is [offset, offset + end - start) of a document's text."""

    document: str
    start: int
    end: int
    offset: int


class DocumentSpan(NamedTuple):
    """[start, end) of a document's text."""

    document: str
    start: int
    end: int


def parts(context: Record) -> list[Part]:
    """The stretches of a context's text, in order; at least one."""
    text: str = context["text"]
    if found := _listed(context.get("source"), len(text)):
        return found
    return [Part(_document(context), 0, len(text), _start(context) or 0)]


def is_stated(context: Record) -> bool:
    """Whether the context says where in its document it stands."""
    if _start(context) is not None or context.get("doc_id") in (None, context["id"]):
        return True
    return bool(_listed(context.get("source"), len(context["text"])))


def has_source(context: Record) -> bool:
    """Whether the context has a `source` that fits its text."""
    return bool(_listed(context.get("source"), len(context["text"])))


def document_spans(context: Record, start: int, end: int) -> Iterator[DocumentSpan]:
    """[start, end) of a context's text as spans of documents; what stands in gaps is in none."""
    for part in parts(context):
        first, last = max(start, part.start), min(end, part.end)
        if first < last:
            shift = part.offset - part.start
            yield DocumentSpan(part.document, first + shift, last + shift)


def local_spans(context: Record, start: int, end: int) -> Iterator[tuple[int, int]]:
    """[start, end) of a context's document as spans of the context's text, clipped to its parts."""
    for part in parts(context):
        shift = part.start - part.offset
        first, last = max(start + shift, part.start), min(end + shift, part.end)
        if first < last:
            yield first, last


def _document(context: Record) -> str:
    return str(context.get("doc_id") or context["id"])


def _start(context: Record) -> int | None:
    start = context.get("start")
    return start if isinstance(start, int) else None


def _listed(source: Any, length: int) -> list[Part]:
    """The parts that `source` lists; none where it does not fit a text of `length`."""
    if not isinstance(source, list):
        return []
    found, cursor = list[Part](), 0
    for item in source:
        if not isinstance(item, dict) or not isinstance(item.get("doc_id"), str):
            return []
        start, end = item.get("start"), item.get("end")
        if not (isinstance(start, int) and isinstance(end, int) and start < end):
            return []
        found.append(Part(item["doc_id"], cursor, cursor + end - start, start))
        cursor += end - start + len(PART_GAP)
    return found if found and found[-1].end == length else []
