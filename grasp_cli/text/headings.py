"""Headings: Markdown `#` lines, and titles with a line of `=`, `-` and the like under them."""

from __future__ import annotations

import re

from grasp_cli.text.lines import Line

_NUMBER_SIGNS = re.compile(r"#{1,6}(?:[ \t]|\Z)|#{2,6}[^#\s]")
_MARKDOWN_UNDERLINES = "=-"
_OTHER_UNDERLINES = "~^\"'*+#"
_RULES = "-*_"
# A longer paragraph over a line of dashes is text over a rule, no title.
_LONGEST_TITLE = 120


def heading_end(lines: list[Line], index: int, fresh: bool) -> int | None:
    """The index after the heading at line `index`, None if there is none.

    `fresh` says that no paragraph is open, so that a title with its underline may begin here.
    """
    line = lines[index]
    if line.body[0] == "#" and line.columns <= 3 and _NUMBER_SIGNS.match(line.body):
        return index + 1
    if not fresh:
        return None
    if _is_underline(line.body, 3) and index + 2 < len(lines):
        title, under = lines[index + 1].body, lines[index + 2].body
        if title and under == line.body and len(title) <= len(under):
            return index + 3
        return None
    if index + 1 < len(lines) and len(line.body) <= _LONGEST_TITLE:
        under = lines[index + 1].body
        if under and _is_underline(under, len(line.body)):
            return index + 2
    return None


def is_rule(body: str) -> bool:
    """A thematic break: three or more of one of `-`, `*`, `_`, spaces allowed."""
    mark = body[0]
    return mark in _RULES and body.count(mark) >= 3 and not body.strip(mark + " \t")


def _is_underline(body: str, title: int) -> bool:
    """A line of one mark: at least three of `=` or `-`, of others as long as the title."""
    mark = body[0]
    if mark in _MARKDOWN_UNDERLINES:
        return len(body) >= 3 and body.count(mark) == len(body)
    return (
        mark in _OTHER_UNDERLINES and len(body) >= max(3, title) and body.count(mark) == len(body)
    )
