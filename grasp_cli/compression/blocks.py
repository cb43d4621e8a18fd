"""The text for the reader: one block per document, made of what was kept of its passages.

A block is the title, a newline, the kept text; blocks are joined by a blank line. With markers a
line `[doc_id]` stands in front. Passages of one document (`doc_id`) share a block, by their
offsets there, and what two of them both hold is written once. Documents stand in the order of
their best rank. Parts of a passage that do not follow one another in the document (`source`) are
placed each at its own offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from grasp_cli.compression.tasks import Evidence
from grasp_cli.pipe.provenance import Part, is_stated, parts
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
    """Where a context stands: which document, in what order, and its parts there."""

    document: int
    parts: list[Part]
    stated: bool = True  # whether the offsets are true ones; else passages are laid end to end

    def part(self, item: Evidence) -> Part:
        """The part that evidence begins in."""
        return next((p for p in reversed(self.parts) if p.start <= item.start), self.parts[0])

    def shift(self, item: Evidence) -> int:
        """From offsets into the context's text to offsets into the document."""
        part = self.part(item)
        return part.offset - part.start


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
    parted = [piece for item in kept for piece in _parted(item, places[item.passage])]
    for item in sorted(parted, key=lambda item: _position(item, places)):
        place = places[item.passage]
        if place.document != document:
            document, cursor = place.document, 0
        shift = place.shift(item)
        item = _from(item, cursor - shift, contexts[item.passage]["text"])
        if item.start < item.end:
            found.append(item)
            cursor = max(cursor, shift + item.end)
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
    return "\n\n".join(_block(contexts, places, items, layout) for items in blocks.values())


def _block(
    contexts: Sequence[Record], places: list[_Place], items: list[Evidence], layout: Layout
) -> str:
    texts = [_slice(contexts, items[0])]
    for before, item in pairwise(items):
        texts += [_between(contexts, places, before, item, layout.gap), _slice(contexts, item)]
    return (_heading(contexts, items, layout) if layout.headings else "") + "".join(texts)


def _heading(contexts: Sequence[Record], items: list[Evidence], layout: Layout) -> str:
    first = contexts[items[0].passage]
    marker = f"[{first.get('doc_id') or first['id']}]" if layout.markers else ""
    title = next((t for item in items if (t := contexts[item.passage].get("title"))), "")
    return "".join(f"{line}\n" for line in (marker, title) if line)


def _between(
    contexts: Sequence[Record], places: list[_Place], before: Evidence, item: Evidence, gap: str
) -> str:
    """The text's own white space where nothing was dropped in between, else the gap."""
    first, second = places[before.passage].part(before), places[item.passage].part(item)
    same = before.passage == item.passage and first == second
    if same:
        between: str = contexts[item.passage]["text"][before.end : item.start]
        if not between.strip():
            return between
    elif places[item.passage].stated and _touch(contexts, (before, first), (item, second)):
        gap = GAP
    if not (before.block or item.block):
        return gap
    return f"{BLOCK_GAP}{gap.strip()}{BLOCK_GAP}" if gap.strip() else BLOCK_GAP


def _touch(
    contexts: Sequence[Record], before: tuple[Evidence, Part], after: tuple[Evidence, Part]
) -> bool:
    """Whether two parts of a document show all of its text between the two kept texts."""
    (first, left), (second, right) = before, after
    length = right.offset - right.start + second.start - (left.offset - left.start + first.end)
    shown: str = contexts[first.passage]["text"][first.end : left.end][: max(0, length)]
    if length > len(shown):
        lead = contexts[second.passage]["text"][right.start : second.start]
        shown += lead[-(length - len(shown)) :]
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


def _parted(item: Evidence, place: _Place) -> list[Evidence]:
    """The evidence, cut where it goes on into another part of its context."""
    if len(place.parts) == 1:
        return [item]
    clipped = [
        item._replace(start=max(item.start, part.start), end=min(item.end, part.end))
        for part in place.parts
    ]
    return [piece for piece in clipped if piece.start < piece.end]


def _position(item: Evidence, places: list[_Place]) -> tuple[int, int, int]:
    place = places[item.passage]
    return place.document, place.shift(item) + item.start, item.passage


def _places(contexts: Sequence[Record]) -> list[_Place]:
    documents: dict[str, list[int]] = {}
    for number in sorted(
        range(len(contexts)), key=lambda number: (rank_of(contexts, number), number)
    ):
        context = contexts[number]
        documents.setdefault(str(context.get("doc_id") or context["id"]), []).append(number)
    places = [_Place(0, [])] * len(contexts)
    for order, members in enumerate(documents.values()):
        stated = all(is_stated(contexts[number]) for number in members)
        cursor = 0
        for number in members:
            found = parts(contexts[number])
            if not stated:  # all are laid end to end
                length = len(contexts[number]["text"])
                found = [Part(found[0].document, 0, length, cursor)]
                cursor += length + 1
            places[number] = _Place(order, found, stated)
    return places


def rank_of(contexts: Sequence[Record], number: int) -> float:
    """The rank of a context; its place in the list where none is stated."""
    rank = contexts[number].get("rank")
    return rank if isinstance(rank, (int, float)) else number + 1
