"""Two Punkt engines: nltk's with our abbreviation list, and nupunkt's with its packaged model.

Neither downloads anything. nltk's tokenizer is built in code from parameters; nupunkt reads a
gzipped JSON file of its own package. Source: Kiss and Strunk, Unsupervised Multilingual Sentence
Boundary Detection (2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from grasp_cli.pipe.errors import MissingError
from grasp_cli.text.abbreviations import (
    ACRONYMS,
    BEFORE_NAME,
    BEFORE_NUMBER,
    MAYBE_LAST,
    OPENERS,
)

SpansOf = Callable[[str], Iterable[tuple[int, int]]]
# Both engines look back over the text since the last candidate, which grows with its square on
# text that is no prose, so what they see at once is bounded.
_LONGEST = 5_000


def punkt_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Cuts of the paragraph text[start:end] by nltk's Punkt."""
    return _cuts(_nltk_spans(), text, start, end)


def nupunkt_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Cuts of the paragraph text[start:end] by nupunkt."""
    return _cuts(_nupunkt_spans(), text, start, end)


def _cuts(spans_of: SpansOf, text: str, start: int, end: int) -> Iterator[int]:
    """The ends of an engine's spans, as positions in `text`.

    A longer paragraph goes through in pieces. Near the end of a piece, where the engine does not
    see what follows, its cuts are left to the next piece, which begins at the last cut before.
    """
    while end - start > _LONGEST:
        known = _LONGEST - _LONGEST // 10
        ends = [stop for _, stop in spans_of(text[start : start + _LONGEST]) if stop <= known]
        yield from (start + stop for stop in ends)
        start += ends[-1] if ends else known
    yield from (start + stop for _, stop in spans_of(text[start:end]))


@cache
def _nltk_spans() -> SpansOf:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters: Any = PunktParameters()
    known = BEFORE_NAME | BEFORE_NUMBER | MAYBE_LAST | ACRONYMS
    parameters.abbrev_types = {word.lower() for word in known}
    parameters.sent_starters = {word.lower() for word in OPENERS}
    spans: SpansOf = PunktSentenceTokenizer(parameters).span_tokenize
    return spans


@cache
def _nupunkt_spans() -> SpansOf:
    try:
        from nupunkt import sent_spans
    except ImportError as missing:
        raise MissingError(
            "the splitter nupunkt is not installed: pip install nupunkt (needs Python 3.11)"
        ) from missing
    spans: SpansOf = sent_spans
    return spans
