"""Long texts as overlapping windows of whole chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grasp_cli.models.encoder import even_windows


class Window(NamedTuple):
    """Chunks [first, last) as tokens [start, end) of a text."""

    first: int
    last: int
    start: int
    end: int


def chunk_windows(bounds: Sequence[int], room: int, overlap: float) -> Iterator[Window]:
    """Windows of at most `room` tokens that hold as many whole chunks as fit.

    A window begins with the last chunks of the one before, as many as have at most `overlap` times
    `room` tokens, or with one that has more, as long as a new chunk fits behind it. A chunk of more
    than `room` tokens is cut into windows of its own, as equal as they can be.

    Parameters
    ----------
    bounds
        Where the tokens of each chunk begin, and where those of the last end, length n + 1.
    """
    first, count = 0, len(bounds) - 1
    while first < count:
        if bounds[first + 1] - bounds[first] > room:
            for start, end in even_windows(bounds[first + 1] - bounds[first], room):
                yield Window(first, first + 1, bounds[first] + start, bounds[first] + end)
            first += 1
            continue
        last = first + 1
        while last < count and bounds[last + 1] - bounds[first] <= room:
            last += 1
        yield Window(first, last, bounds[first], bounds[last])
        if last == count:
            return
        first = _next(bounds, last, room, overlap * room)


def _next(bounds: Sequence[int], last: int, room: int, most: float) -> int:
    """Where the window begins that comes after one that ends before chunk `last`."""
    begin = last
    while begin > 0 and bounds[last + 1] - bounds[begin - 1] <= room:
        if begin < last and bounds[last] - bounds[begin - 1] > most:
            break
        begin -= 1
    return begin
