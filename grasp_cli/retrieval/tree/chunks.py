"""Chunks: runs of neighbouring sentences, as spans of a document's text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.text import Span, segment


def chunk(text: str, sentences: int) -> list[Span]:
    """Spans of up to `sentences` neighbouring sentences or atomic blocks (code, table, list item).

    They tile the text but for white space; only the last can have fewer. None of a blank text.
    """
    pieces = segment(text)
    return [
        (pieces[first].start, pieces[min(first + sentences, len(pieces)) - 1].end)
        for first in range(0, len(pieces), sentences)
    ]


def runs(numbers: Iterable[int], chunks: Sequence[Sequence[int]]) -> list[Span]:
    """The spans of chunks, those of neighbours as one; `numbers` ascend.

    What stands between two neighbours is white space, so a run is a verbatim slice of the text.
    """
    found: list[list[int]] = []
    before = -2
    for number in numbers:
        start, end = chunks[number]
        if number == before + 1 and found:
            found[-1][1] = int(end)
        else:
            found.append([int(start), int(end)])
        before = number
    return [(start, end) for start, end in found]
