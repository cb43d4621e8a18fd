"""The text for the reader: one block per document, made of what was kept of its passages.

A block is the title, a newline, the kept text; blocks are joined by a blank line. Passages of one
document (`doc_id`) share a block, by their offsets there, and what two of them both hold is
written once. Documents stand in the order of their best rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from grasp_cli.compression.tasks import Evidence
from grasp_cli.pipe.records import Record

GAP = " "  # between kept texts that were not adjacent
BLOCK_GAP = "\n"  # the same where one of them is code, a table or a list item


class _Place(NamedTuple):
    """Where a context stands: which document, in what order, and at which offset of it."""

    document: int
    offset: int


def join_contexts(contexts: Sequence[Record]) -> str:
    """All contexts uncompressed, in the form that `compose` gives to compressed ones."""
    return compose(contexts, whole(contexts))


def whole(contexts: Sequence[Record]) -> list[Evidence]:
    """Evidence that keeps every context whole (without outer white space)."""
    kept = []
    for number, context in enumerate(contexts):
        text = context["text"]
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        if start < end:
            kept.append(Evidence(number, start, end, None, number, 0, True))
    return without_overlaps(contexts, kept)


def without_overlaps(contexts: Sequence[Record], kept: Sequence[Evidence]) -> list[Evidence]:
    """Evidence in reading order, without what an earlier passage of the document already shows."""
    places = _places(contexts)
    found: list[Evidence] = []
    document, cursor = -1, 0
    for item in sorted(kept, key=lambda item: _position(item, places)):
        place = places[item.passage]
        if place.document != document:
            document, cursor = place.document, 0
        item = _from(item, cursor - place.offset, contexts[item.passage]["text"])
        if item.start < item.end:
            found.append(item)
            cursor = max(cursor, place.offset + item.end)
    return found


def compose(
    contexts: Sequence[Record], kept: Sequence[Evidence], *, gap: str = GAP, titles: bool = True
) -> str:
    """The context for the reader, of evidence as `without_overlaps` returns it."""
    places = _places(contexts)
    blocks: dict[int, list[Evidence]] = {}
    for item in kept:
        blocks.setdefault(places[item.passage].document, []).append(item)
    return "\n\n".join(_block(contexts, items, gap, titles) for items in blocks.values())


def _block(contexts: Sequence[Record], items: list[Evidence], gap: str, titled: bool) -> str:
    parts = [_slice(contexts, items[0])]
    for before, item in pairwise(items):
        parts += [_between(contexts, before, item, gap), _slice(contexts, item)]
    title = next((t for item in items if (t := contexts[item.passage].get("title"))), "")
    return (f"{title}\n" if title and titled else "") + "".join(parts)


def _between(contexts: Sequence[Record], before: Evidence, item: Evidence, gap: str) -> str:
    """The text's own white space where nothing was dropped in between, else the gap."""
    if before.passage == item.passage:
        between: str = contexts[item.passage]["text"][before.end : item.start]
        if not between.strip():
            return between
    return BLOCK_GAP if before.block or item.block else gap


def _slice(contexts: Sequence[Record], item: Evidence) -> str:
    text: str = contexts[item.passage]["text"]
    return text[item.start : item.end]


def _from(item: Evidence, start: int, text: str) -> Evidence:
    """The evidence from `start` on, without white space in front."""
    if start <= item.start:
        return item
    rest = text[start : item.end]
    return item._replace(start=min(item.end, start + len(rest) - len(rest.lstrip())))


def _position(item: Evidence, places: list[_Place]) -> tuple[int, int, int]:
    place = places[item.passage]
    return place.document, place.offset + item.start, item.passage


def _places(contexts: Sequence[Record]) -> list[_Place]:
    documents: dict[str, list[int]] = {}
    for number in sorted(
        range(len(contexts)), key=lambda number: (_rank(contexts, number), number)
    ):
        context = contexts[number]
        documents.setdefault(str(context.get("doc_id") or context["id"]), []).append(number)
    places = [_Place(0, 0)] * len(contexts)
    for order, members in enumerate(documents.values()):
        for number, offset in zip(members, _offsets(contexts, members), strict=True):
            places[number] = _Place(order, offset)
    return places


def _rank(contexts: Sequence[Record], number: int) -> float:
    rank = contexts[number].get("rank")
    return rank if isinstance(rank, (int, float)) else number + 1


def _offsets(contexts: Sequence[Record], members: list[int]) -> list[int]:
    """Offsets in the document; where one passage does not state it, all are laid end to end."""
    stated = [
        start for number in members if isinstance(start := contexts[number].get("start"), int)
    ]
    if len(stated) == len(members):
        return stated
    offsets, cursor = [], 0
    for number in members:
        offsets.append(cursor)
        cursor += len(contexts[number]["text"]) + 1
    return offsets
