"""Spans: [start, end) in Unicode characters of a text, and how cuts become spans."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

_SPACE = re.compile(r"\s*")
_ZERO_WIDTH_JOINER = "\u200d"


def skip_space(text: str, start: int, end: int) -> int:
    """The first position in [start, end) that is not white space, else `end`."""
    match = _SPACE.match(text, start, end)
    return match.end() if match else start


def trim(text: str, start: int, end: int) -> Span:
    """[start, end) without white space at either side; empty at `end` when there is nothing."""
    start = skip_space(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def joins_previous(character: str) -> bool:
    """Whether a character belongs to the one before it: a combining mark, a joiner."""
    if character < "\u0300":
        return False
    return unicodedata.category(character)[0] == "M" or character == _ZERO_WIDTH_JOINER


def tile(text: str, start: int, end: int, cuts: Iterable[int]) -> Iterator[Span]:
    """Spans between sorted cuts of text[start:end], trimmed; empty ones are left out.

    A cut that would part a character from its combining marks is passed over.
    """
    opened = skip_space(text, start, end)
    for cut in cuts:
        if cut <= opened or cut >= end:
            continue
        following = skip_space(text, cut, end)
        if following < end and joins_previous(text[following]):
            continue
        yield trim(text, opened, cut)
        opened = following
    if opened < end:
        yield trim(text, opened, end)
