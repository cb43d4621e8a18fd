"""One of several nodes or passages of which one holds the other's text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from grasp_cli.pipe.provenance import parts
from grasp_cli.pipe.records import Record
from grasp_cli.text import Span

Item = TypeVar("Item")


def without_nested(
    items: Iterable[tuple[Item, str | int, Sequence[Span]]],
) -> Iterator[Item]:
    """The items that neither hold nor lie in one that came before.

    Parameters
    ----------
    items : best first; an item, its document, and its spans there, sorted
    """
    chosen: dict[str | int, list[Sequence[Span]]] = {}
    for item, document, spans in items:
        before = chosen.setdefault(document, [])
        if not any(_inside(spans, other) or _inside(other, spans) for other in before):
            before.append(spans)
            yield item


def distinct_contexts(contexts: Iterable[Record]) -> Iterator[Record]:
    """The contexts, best first, without nested ones."""
    return without_nested(
        (context, own[0].document, [(p.offset, p.offset + p.end - p.start) for p in own])
        for context in contexts
        if (own := parts(context))
    )


def _inside(inner: Sequence[Span], outer: Sequence[Span]) -> bool:
    """Whether every span of `inner` lies in one of `outer`."""
    place = 0
    for start, end in inner:
        while place < len(outer) and outer[place][1] < end:
            place += 1
        if place == len(outer) or outer[place][0] > start:
            return False
    return True
