"""List items: `-`, `*`, `+`, `•`, `1.`, `1)`, `a)`, `(iv)`, with their continuation lines.

An item reaches to the next item, nested ones included, and takes along what is indented to its
text: further paragraphs, code, tables.
"""

from __future__ import annotations

import re

from grasp_cli.text.abbreviations import AFTER_ORDINAL
from grasp_cli.text.fences import fence_end
from grasp_cli.text.headings import heading_end, is_rule
from grasp_cli.text.lines import Line, next_text
from grasp_cli.text.tables import table_end

_MARKER = re.compile(
    r"(?:[-*+]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})\)|(?P<number>\d{1,3})\.)[ \t]+(?=\S)"
    r"|[•‣◦▪●][ \t]*(?=\S)"
    r"|\d{1,3}、(?=\S)"
)
_FIRST = re.compile(r"[-*+•‣◦▪●]|\(?[1aAiI]\)|1[.、]")
_WORD = re.compile(r"\w+")


def marker_width(line: Line) -> int | None:
    """The column where the text of the item at `line` begins, None without a marker."""
    marker = _MARKER.match(line.body)
    if marker is None or is_rule(line.body):
        return None
    word = _WORD.match(line.body, marker.end())
    if marker["number"] and word and word.group() in AFTER_ORDINAL:
        return None
    return line.columns + len(marker.group())


def item_end(lines: list[Line], index: int, fresh: bool) -> int | None:
    """The index after the list item at line `index`, None if none begins there.

    Inside a paragraph (`fresh` is false) only a first item begins: `-`, `1.`, `a)`. A text of one
    line that begins with a number is no list: `1. FC Köln ist ein Verein. …`
    """
    width = marker_width(lines[index])
    if width is None:
        return None
    if not fresh and not _FIRST.match(lines[index].body):
        return None
    if len(lines) == 1 and lines[0].body[0].isdecimal():
        return None
    following = _fence_on_marker_line(lines, index, width)
    while following < len(lines):
        reached = _continue_item(lines, following, width)
        if reached is None:
            break
        following = reached
    return following


def _fence_on_marker_line(lines: list[Line], index: int, width: int) -> int:
    """The index after the first line of an item, or after the fence that opens on it."""
    text = lines[index].body[width - lines[index].columns :]
    if not text.startswith(("```", "~~~")):
        return index + 1
    opener = lines[index]._replace(columns=width, body=text)
    return fence_end(lines, index, width, opener) or index + 1


def _continue_item(lines: list[Line], index: int, width: int) -> int | None:
    """The index after what line `index` adds to an item, None where the item ends."""
    reached = next_text(lines, index)
    if reached == len(lines):
        return None
    line = lines[reached]
    if marker_width(line) is not None:
        return None
    if line.columns >= width:
        return fence_end(lines, reached, width) or reached + 1
    if reached > index or _starts_block(lines, reached):
        return None
    return reached + 1


def _starts_block(lines: list[Line], index: int) -> bool:
    return (
        is_rule(lines[index].body)
        or fence_end(lines, index) is not None
        or heading_end(lines, index, fresh=False) is not None
        or table_end(lines, index) is not None
    )
