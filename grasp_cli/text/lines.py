"""The lines of a text, as the block readers look at them."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")


class Line(NamedTuple):
    """One line: where it is, how far it is indented, and what it says.

    `start` and `end` are positions in the text, the line break included; `columns` counts a tab
    up to the next multiple of four; `body` has no white space at its ends and is empty for a
    blank line.
    """

    start: int
    end: int
    columns: int
    body: str


def scan_lines(text: str) -> list[Line]:
    """All lines of `text`; CRLF, LF and a lone CR end a line."""
    return [_line(*match.span(), match.group()) for match in _LINE.finditer(text) if match.group()]


def _line(start: int, end: int, raw: str) -> Line:
    indent = raw[: len(raw) - len(raw.lstrip(" \t"))]
    columns = len(indent.expandtabs(4)) if "\t" in indent else len(indent)
    return Line(start, end, columns, raw.strip())


def next_text(lines: list[Line], index: int) -> int:
    """The index of the first line at or after `index` that is not blank, else len(lines)."""
    while index < len(lines) and not lines[index].body:
        index += 1
    return index
