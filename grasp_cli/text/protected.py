"""Parts of prose that are never cut inside: inline code, Markdown links and images, addresses."""

from __future__ import annotations

import re

from grasp_cli.text.spans import Span

_TICKS = re.compile("`+")
# [text](target "title"), with an image allowed as the text: [![alt](image)](target).
_TARGET = r'\((?:<[^<>\n]*>|[^()\s<]*(?:\([^()\s]*\)[^()\s]*)?)(?:\s+"[^"\n]*")?\s*\)'
_LINK = re.compile(rf"!?\[[^\[\]]*(?:(?<=!)\[[^\[\]]*\]{_TARGET}[^\[\]]*)*\]{_TARGET}")
_ADDRESS = re.compile(r"(?:https?|ftp|file)://[^\s<>\"'`，。、；：！？（）「」『』【】《》“”‘’]+")


def protected_regions(text: str, start: int, end: int) -> list[Span]:
    """Sorted spans of text[start:end] that no cut may fall inside; they may overlap."""
    regions: list[Span] = []
    if text.find("`", start, end) >= 0:
        regions += _inline_code(text, start, end)
    if text.find("](", start, end) >= 0:
        regions += [match.span() for match in _LINK.finditer(text, start, end)]
    if text.find("://", start, end) >= 0:
        regions += [match.span() for match in _ADDRESS.finditer(text, start, end)]
    return sorted(regions)


def _inline_code(text: str, start: int, end: int) -> list[Span]:
    """Backtick runs paired with the next run of the same length, as CommonMark does."""
    runs = [match.span() for match in _TICKS.finditer(text, start, end)]
    partner: dict[int, int] = {}
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in latest:
            partner[index] = latest[length]
        latest[length] = index
    regions = []
    index = 0
    while index < len(runs):
        other = partner.get(index)
        if other is not None and _is_code(text, *runs[index], *runs[other]):
            regions.append((runs[index][0], runs[other][1]))
            index = other
        index += 1
    return regions


def _is_code(text: str, outer: int, inner: int, inner_end: int, outer_end: int) -> bool:
    """Whether two backtick runs hold code, and are not opening quotation marks both.

    Two backticks that '' closes are quotation marks, ``like these''; so are backticks of which
    the second stands before a word as the first does: ``like, ``these.
    """
    if inner - outer == 2 and text.find("''", inner, inner_end) >= 0:
        return False
    return text[inner].isspace() or not text[inner_end - 1].isspace()
