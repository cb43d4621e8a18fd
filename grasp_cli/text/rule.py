"""The plain rule: a full stop ends a sentence unless what stands around it says otherwise.

A run of terminators with its closing quotes and brackets is a candidate when white space follows.
It is turned down where the next word is in lower case, after an abbreviation or an initial, and
after a German ordinal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grasp_cli.text.abbreviations import (
    AFTER_ORDINAL,
    BEFORE_NAME,
    BEFORE_NUMBER,
    BEFORE_ORDINAL,
    MAYBE_LAST,
    OPENERS,
)

# Terminators, closing quotes and brackets, footnote marks, a French quote's end, an emoji or a
# smiley. It consumes without looking ahead, so that a run of a million full stops is read once.
_END = re.compile(
    r"[.!?…‼⁇⁈⁉]+[\"'”’»›«‹“‘)\]}*_]*(?:\[\d{1,3}\])*(?:[ \xa0\u202f]»(?=\s))?"
    r"(?: ?(?:[\U0001f300-\U0001faff☺❤\ufe0f\u200d]+|[:;]-?[)(DP](?!\w)))?"
)
_NEXT = re.compile(r"\s+[\"'“‘„«»‹›(\[{¿¡*_#<—–-]*(\w{0,20})")
_ROMAN = re.compile(r"[IVXLC]+")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_WORD_BEFORE = re.compile(r"[\s-]")
_BEFORE_WORD = "([{\"'“‘„«»‹›*_`<-–—/"
# No abbreviation is longer than this.
_REACH = 24
# A word of so many letters is not taken for an unknown abbreviation.
_LONG_WORD = 3


def rule_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Cuts of the paragraph text[start:end] by the rule."""
    opened = start
    for match in _END.finditer(text, start, end):
        cut = match.end()
        if cut >= end or not text[cut].isspace():
            continue
        following = _NEXT.match(text, cut, end)
        if following is None:
            continue
        if _ends_sentence(text, match.start(), opened, following):
            yield cut
            opened = cut


def _ends_sentence(text: str, first: int, opened: int, following: re.Match[str]) -> bool:
    """Whether the terminators at `first` end the sentence that began at `opened`."""
    word = following.group(1)
    if word[:1].islower() and not _ends_before_lower(text, first, opened, following.start()):
        return False
    if not word and text[following.end() : following.end() + 1] in (",", ";", ":"):
        return False
    if text[first] in ".…" and not text[max(opened, first - _REACH) : first].strip():
        return False  # nothing said yet: `... and so on`, `.. note:: `
    if text[first] != "." or text[first : first + 2] == "..":
        return True
    before = text[max(opened, first - _REACH) : first].split()
    if not before or text[first - 1].isspace():
        return True
    token = before[-1].lstrip(_BEFORE_WORD)
    begins = first - len(token)
    if token.isdecimal() and _is_ordinal(token, before, word):
        return False
    if _enumerates(token, text[max(opened, begins - 4) : begins], begins - opened):
        return False
    return not _is_abbreviation(token, word, text[following.end() : following.end() + 1])


def _ends_before_lower(text: str, first: int, opened: int, cut: int) -> bool:
    """Whether a terminator ends a sentence although the next word is in lower case.

    `mTOR` and `p53` open sentences too, and some people write without capitals. But a quotation
    goes on after its closing quote, an abbreviation is short, and a name may end with `!`.
    """
    marks = text[first:cut]
    if marks.strip(".!?") or ".." in marks or first == opened:
        return False
    if marks == "." and text[first - 1] in ")]":
        return True
    word = _WORD_BEFORE.split(text[max(opened, first - _REACH) : first])[-1]
    if marks == ".":
        return len(word) >= _LONG_WORD and word.isalpha()
    return len(marks) > 1 or not word or (word.isalpha() and not word.istitle())


def _is_ordinal(token: str, before: list[str], word: str) -> bool:
    """German `am 3. Mai`, `im 19. Jahrhundert`, `der 1. FC`."""
    if len(token) > 2:
        return False
    if word in AFTER_ORDINAL:
        return True
    return len(before) > 1 and before[-2].lower() in BEFORE_ORDINAL and word not in OPENERS


def _enumerates(token: str, gap: str, distance: int) -> bool:
    """Whether a number is the first thing of its sentence or, in digits, of its line.

    `gap` is what stands right before it, `distance` how far the sentence began before it.
    """
    if len(token) > 4:
        return False
    gap = gap.rstrip(" \t" + _BEFORE_WORD)
    if token.isdecimal():
        return gap.endswith(("\n", "\r")) or (distance <= 4 and not gap)
    return bool(_ROMAN.fullmatch(token)) and distance <= 4 and not gap.strip()


def _is_abbreviation(token: str, word: str, after_word: str) -> bool:
    """Whether the full stop after `token` belongs to it and no sentence begins with `word`."""
    token = token.rpartition("-")[2]
    lower = token.lower()
    if token in BEFORE_NAME or lower in BEFORE_NAME:
        return True
    before_number = token in BEFORE_NUMBER or lower in BEFORE_NUMBER
    if before_number and (_is_number(word) or word[:1].islower()):
        return True
    initial = len(token) == 1 and (token.isupper() or token.islower())
    if initial or token in MAYBE_LAST or lower in MAYBE_LAST or _DOTTED.fullmatch(token):
        return word not in OPENERS or after_word == "."
    return False


def _is_number(word: str) -> bool:
    """A number, a Roman numeral, or a letter that is not a word of its own (`A`, `I`)."""
    if word[:1].isdecimal():
        return True
    if word == "I" or not word.isupper():
        return False
    return bool(_ROMAN.fullmatch(word)) or (len(word) == 1 and word != "A")
