"""Words for BM25: the same for passages and questions, in every script.

Text is brought to Unicode's NFKC form and case-folded. Words are runs of letters, digits and their
combining marks; an English possessive 's is dropped. Scripts written without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) become overlapping pairs of characters, a lone character
stays itself. Stop words are left out before words are stemmed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any

from grasp_cli.defaults import INDEX
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.text.scripts import UNSPACED

STOP_WORDS = {
    "none": frozenset[str](),
    "english": frozenset(
        """a about above after again all also although am an and any are as at be because been
        before being below between both but by can could did do does doing down during each few for
        from further had has have having he her here hers herself him himself his how i if in into
        is it its itself just many me more most much must my myself no nor not now of off on once
        only or other our ours ourselves out over own s same she should so some such t than that
        the their theirs them themselves then there these they this those through to too under
        until up upon very was we were what when where which while who whom whose why will with
        would you your yours yourself yourselves""".split()  # noqa: SIM905
    ),
}
# Languages of the Snowball stemmers in NLTK.
STEMMERS = (
    "none",
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
)
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"['’]s(?![^\W_])")
_VERSION = 1  # of the rules above: an index made by others cannot be searched


@dataclass(frozen=True)
class Tokenizer:
    """Text to words; its settings are part of an index."""

    stop_words: str = INDEX.stop_words  # a key of STOP_WORDS
    stem: str = INDEX.stem  # one of STEMMERS

    def words(self, text: str) -> list[str]:
        """The words of `text` in order, repeated as they are there."""
        dropped = STOP_WORDS[self.stop_words]
        found = _ascii_words(text) if text.isascii() else _words(text)
        words = [word for word in found if word not in dropped]
        return words if self.stem == "none" else [_stem(self.stem, word) for word in words]

    def settings(self) -> dict[str, Any]:
        """What an index stores."""
        return {"version": _VERSION, **asdict(self)}

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Tokenizer:
        """The tokenizer with which an index was made; `ProcessingError` where it is unknown."""
        given = dict(settings)
        known = (
            given.pop("version", None) == _VERSION
            and given.get("stop_words") in STOP_WORDS
            and given.get("stem") in STEMMERS
        )
        if not known:
            raise ProcessingError(f"this grasp does not know the index's tokenizer {settings}")
        return cls(**given)


def count_words(text: str) -> int:
    """How long a text is: words between white space; unspaced scripts count by character."""
    if text.isascii():
        return len(text.split())
    return sum(1 for _ in _counted().finditer(text))


@lru_cache(maxsize=1 << 20)
def _stem(language: str, word: str) -> str:
    stem: str = _stemmer(language).stem(word)
    return stem or word


@cache
def _stemmer(language: str) -> Any:
    from nltk.stem.snowball import SnowballStemmer

    return SnowballStemmer(language)


def _ascii_words(text: str) -> list[str]:
    return _ASCII_WORD.findall(_POSSESSIVE.sub("", text.lower()))


def _words(text: str) -> Iterator[str]:
    normal = unicodedata.normalize("NFKC", text).casefold()
    for match in _word().finditer(_POSSESSIVE.sub("", normal)):
        word = match.group()
        if match.lastgroup == "run" and len(word) > 1:
            yield from (word[i : i + 2] for i in range(len(word) - 1))
        else:
            yield word


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    letter = rf"[^\W_{UNSPACED}]"
    return re.compile(rf"(?P<run>[{UNSPACED}]+)|{letter}+(?:[{_marks()}]+{letter}*)*")


@lru_cache(maxsize=1)
def _counted() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


def _marks() -> str:
    """Combining marks, which Python's \\w leaves out although Indic words are full of them."""
    return "".join(
        character
        for character in map(chr, range(0x300, 0x10000))
        if unicodedata.category(character)[0] == "M" and not re.match(f"[{UNSPACED}]", character)
    )
