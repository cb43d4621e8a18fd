"""The text for the reader: one block per document, made of what was kept of its passages.

A block is the title, a newline, the kept text; blocks are joined by a blank line. With markers a
line `[doc_id]` stands in front. Passages of one document (`doc_id`) share a block, by their
offsets there, and what two of them both hold is written once. Documents stand in the order of
their best rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from grasp_cli.compression.tasks import Evidence
from grasp_cli.pipe.records import Record

GAP = " "  # between kept texts that were not adjacent
BLOCK_GAP = "\n"  # the same where one of them is code, a table or a list item


@dataclass(frozen=True)
class Layout:
    """How the context is written."""

    gap: str = GAP  # between kept texts that were not adjacent
    markers: bool = False  # `[doc_id]` in front of each block
    headings: bool = True  # titles and markers; False where a budget has no room for them


PLAIN = Layout()


class _Place(NamedTuple):
    """Where a context stands: which document, in what order, and at which offset of it."""

    document: int
    offset: int


def join_contexts(contexts: Sequence[Record], layout: Layout = PLAIN) -> str:
    """All contexts uncompressed, in the form that `compose` gives to compressed ones."""
    return compose(contexts, whole(contexts), replace(layout, gap=GAP))


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


def documents(contexts: Sequence[Record]) -> list[int]:
    """The number of each context's document, in the order of the blocks."""
    return [place.document for place in _places(contexts)]


def compose(contexts: Sequence[Record], kept: Sequence[Evidence], layout: Layout = PLAIN) -> str:
    """The context for the reader, of evidence as `without_overlaps` returns it."""
    places = _places(contexts)
    blocks: dict[int, list[Evidence]] = {}
    for item in kept:
        blocks.setdefault(places[item.passage].document, []).append(item)
    return "\n\n".join(_block(contexts, items, layout) for items in blocks.values())


def _block(contexts: Sequence[Record], items: list[Evidence], layout: Layout) -> str:
    parts = [_slice(contexts, items[0])]
    for before, item in pairwise(items):
        parts += [_between(contexts, before, item, layout.gap), _slice(contexts, item)]
    return (_heading(contexts, items, layout) if layout.headings else "") + "".join(parts)


def _heading(contexts: Sequence[Record], items: list[Evidence], layout: Layout) -> str:
    first = contexts[items[0].passage]
    marker = f"[{first.get('doc_id') or first['id']}]" if layout.markers else ""
    title = next((t for item in items if (t := contexts[item.passage].get("title"))), "")
    return "".join(f"{line}\n" for line in (marker, title) if line)


def _between(contexts: Sequence[Record], before: Evidence, item: Evidence, gap: str) -> str:
    """The text's own white space where nothing was dropped in between, else the gap."""
    if before.passage == item.passage:
        between: str = contexts[item.passage]["text"][before.end : item.start]
        if not between.strip():
            return between
    if before.passage != item.passage and _touch(contexts, before, item):
        gap = GAP
    if not (before.block or item.block):
        return gap
    return f"{BLOCK_GAP}{gap.strip()}{BLOCK_GAP}" if gap.strip() else BLOCK_GAP


def _touch(contexts: Sequence[Record], before: Evidence, item: Evidence) -> bool:
    """Whether two passages of a document show all of its text between the two kept texts."""
    first, second = contexts[before.passage], contexts[item.passage]
    if not (isinstance(first.get("start"), int) and isinstance(second.get("start"), int)):
        return False
    length = second["start"] + item.start - first["start"] - before.end
    shown = first["text"][before.end :][: max(0, length)]
    shown += second["text"][: item.start][-(length - len(shown)) :] if length > len(shown) else ""
    return not shown.strip() and length <= len(shown) + 1  # a white space between passages


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
        range(len(contexts)), key=lambda number: (rank_of(contexts, number), number)
    ):
        context = contexts[number]
        documents.setdefault(str(context.get("doc_id") or context["id"]), []).append(number)
    places = [_Place(0, 0)] * len(contexts)
    for order, members in enumerate(documents.values()):
        for number, offset in zip(members, _offsets(contexts, members), strict=True):
            places[number] = _Place(order, offset)
    return places


def rank_of(contexts: Sequence[Record], number: int) -> float:
    """The rank of a context; its place in the list where none is stated."""
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
