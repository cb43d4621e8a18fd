"""Short answers as tokens that can be compared.

Text in scripts that put spaces between words is normalised exactly as SQuAD does (Rajpurkar et
al. 2016: lower case, ASCII punctuation removed, the articles a, an and the removed). Text with
Chinese, Japanese, Thai or another script without spaces also loses Unicode punctuation, and each
character of such a script is a token, as in MLQA (Lewis et al. 2020).
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache

from grasp_cli.text.scripts import UNSPACED

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = string.punctuation.encode()
_UNSPACED = re.compile(f"[{UNSPACED}]")


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The normalised tokens of an answer; may be empty ("The", "?")."""
    return tuple(_split(_ARTICLES.sub(" ", _without_punctuation(text))))


@lru_cache(maxsize=4096)
def literal_tokens(text: str) -> tuple[str, ...]:
    """Tokens with the articles left in, and with punctuation where there is nothing else."""
    return tuple(_split(_without_punctuation(text)) or text.lower().split())


def holds(text: str, wanted: tuple[str, ...]) -> bool:
    """Whether the tokens, at least one, stand in a text one after another.

    Cheap where a long text does not hold the longest of them.
    """
    if not wanted or max(wanted, key=len) not in _without_punctuation(text):
        return False
    return f" {' '.join(wanted)} " in _spaced(text)


def normalise(text: str) -> str:
    """The normalised tokens, with one space between them."""
    return " ".join(tokens(text))


def separated(text: str) -> str:
    """The text with spaces around each character of a script that is written without them."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


@lru_cache(maxsize=64)
def _spaced(text: str) -> str:
    """The normalised text with a space at both ends."""
    return f" {' '.join(_split(_ARTICLES.sub(' ', _without_punctuation(text))))} "


@lru_cache(maxsize=64)
def _without_punctuation(text: str) -> str:
    if not text.isascii():
        if _UNSPACED.search(text):
            text = unicodedata.normalize("NFKC", text)
            text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
        else:
            text = unicodedata.normalize("NFC", text)
    encoded = text.lower().encode("utf-8", "surrogatepass")  # bytes lose characters much faster
    return encoded.translate(None, _ASCII_PUNCTUATION).decode("utf-8", "surrogatepass")


def _split(text: str) -> list[str]:
    return separated(text).split()
