"""Sentence ends that need no white space after them: 。！？ and other scripts' full stops.

Chinese and Japanese write sentences without spaces between them, and ।, ؟, ። are never anything
but a sentence end. The Latin engines (the rule, Punkt, nupunkt) know none of these, so these cuts
are added to those of every engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grasp_cli.text.scripts import UNSPACED_LETTER

# Ideographic, half-width and full-width marks; Armenian, Arabic, Devanagari, Ethiopic, Myanmar,
# Khmer and Tibetan full stops.
ALWAYS = "。｡！？։؟۔।॥።፧፨။៕།༎"
_MARKS = "\u0300-\u036f\u3099\u309a\ufe00-\ufe0f"
_CLOSERS = "」』”’）)】］\\]》〉〕｣»〗"

_RELEVANT = re.compile(f"[{ALWAYS}{UNSPACED_LETTER}]")
_END = re.compile(
    f"[{ALWAYS}．.!?]+[{ALWAYS}．.!?…{_MARKS}]*[{_CLOSERS}{_MARKS}]*" + r"(?:\[\d{1,3}\])*"
)
_LETTER = re.compile(f"[{UNSPACED_LETTER}]")
# What follows a closing quote when the sentence goes on: 「…。」と言った, “……。”，
_GOES_ON = re.compile("[、，,：:；;]|と|って")
# A quoted title is short; farther back no opening bracket is looked for.
_TITLE_REACH = 40


def unspaced_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Cuts of text[start:end] at terminators that end a sentence without white space."""
    if text.isascii() or not _RELEVANT.search(text, start, end):
        return
    opened = counted = start
    quotes = 0
    for match in _END.finditer(text, start, end):
        cut = match.end()
        if cut >= end or not _terminates(text, match.start(), cut):
            continue
        if _in_title(text, opened, match.start()):
            continue
        closed = text[cut - 1] in _CLOSERS
        if text[cut] == '"':  # closes when an odd number of them stands before it
            quotes += text.count('"', counted, cut)
            counted = cut
            closed = quotes % 2 == 1
            cut += closed
        if closed and _GOES_ON.match(text, cut, end):
            continue
        yield cut
        opened = cut


def _terminates(text: str, first: int, cut: int) -> bool:
    """Whether the run of marks at [first, cut) ends a sentence whatever follows it."""
    if any(mark in ALWAYS for mark in text[first : min(cut, first + 8)]):
        return True
    before = text[first - 1] if first else ""
    if not _LETTER.match(before):
        return False
    if text[first] == "．":
        return not text[cut].isdigit()
    return bool(_LETTER.match(text, cut))


def _in_title(text: str, opened: int, position: int) -> bool:
    """Whether a title bracket 《 or 〈 stands open at `position`."""
    low = max(opened, position - _TITLE_REACH)
    return any(
        text.rfind(left, low, position) > text.rfind(right, low, position)
        for left, right in ("《》", "〈〉")
    )
