"""ROUGE-L (Lin 2004) of two short texts, as the rouge-score package computes it.

For Latin script the tokens are rouge-score's (runs of a-z and 0-9 in lower case), so that numbers
compare with published ones. It drops every other script, so where either text has letters of one,
words of any script are tokens, and each character of a script without spaces. With stemming,
ASCII words of more than three letters lose their endings by Porter's algorithm, as in rouge-score.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from grasp_cli.text.answers import separated

_LATIN_WORD = re.compile(r"[a-z0-9]+")
_LONGEST_UNSTEMMED = 3
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")


def rouge_l(gold: str, answer: str, *, stemming: bool = False) -> float | None:
    """The F-measure, 0 to 1; None where the gold text has no token."""
    split = _latin_words if _is_latin(gold) and _is_latin(answer) else _any_words
    wanted, given = split(gold), split(answer)
    if stemming:
        wanted, given = tuple(map(_stem, wanted)), tuple(map(_stem, given))
    if not wanted:
        return None
    return 2 * common_subsequence(wanted, given) / (len(wanted) + len(given))


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for position, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << position
    full = (1 << len(first)) - 1
    row = full  # bit i is 0 where the length grows at token i
    for token in second:
        match = row & places.get(token, 0)
        row = (row + match | row - match) & full
    return len(first) - row.bit_count()


def _is_latin(text: str) -> bool:
    return text.isascii() or not _OTHER_SCRIPT.search(text)


@lru_cache(maxsize=4096)
def _latin_words(text: str) -> tuple[str, ...]:
    return tuple(_LATIN_WORD.findall(text.lower()))


@lru_cache(maxsize=4096)
def _any_words(text: str) -> tuple[str, ...]:
    normal = unicodedata.normalize("NFKC", text).lower()
    words = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in normal)
    return tuple(separated(words).split())


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    if len(word) <= _LONGEST_UNSTEMMED or not word.isascii():
        return word
    stem: str = _porter().stem(word)
    return stem


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
