"""Sentences of running text as spans: `split_sentences`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module

from grasp_cli.defaults import TEXT
from grasp_cli.pipe.errors import UsageError
from grasp_cli.text.protected import protected_regions
from grasp_cli.text.spans import Span, tile
from grasp_cli.text.terminators import unspaced_cuts

DEFAULT_SPLITTER = TEXT.splitter

# A splitter gives the cuts of one paragraph text[start:end], in order.
CutsOf = Callable[[str, int, int], Iterable[int]]
SPLITTERS = {
    "rule": "grasp_cli.text.rule:rule_cuts",
    "punkt": "grasp_cli.text.punkt:punkt_cuts",
    "nupunkt": "grasp_cli.text.punkt:nupunkt_cuts",
}

# A blank line, a form feed or a paragraph separator, with all white space after it.
_PARAGRAPH_BREAK = re.compile(
    r"(?:(?:\r\n|\n|\r(?!\n))[^\S\r\n]*(?:\r\n|\n|\r(?!\n))|[\f\u2029])\s*"
)


def split_sentences(text: str, splitter: str = DEFAULT_SPLITTER) -> list[Span]:
    """Sentences of `text` in order, as [start, end) in Unicode characters.

    The spans are disjoint, begin and end with something other than white space, and leave out
    nothing but white space. A blank line always parts sentences, a single line break never does.

    Parameters
    ----------
    text : running text; Markdown links, inline code and addresses are not cut inside
    splitter : a name of `SPLITTERS`; every one of them also splits at 。！？ and their like

    Raises
    ------
    UsageError
        There is no splitter of that name.
    """
    return list(sentences_within(text, 0, len(text), splitter))


def sentences_within(text: str, start: int, end: int, splitter: str) -> Iterator[Span]:
    """Sentences of text[start:end], with positions in the whole of `text`."""
    cuts_of = load_splitter(splitter)
    opened = start
    for gap in _PARAGRAPH_BREAK.finditer(text, start, end):
        closed = gap.start()
        yield from tile(text, opened, closed, _paragraph_cuts(cuts_of, text, opened, closed))
        opened = gap.end()
    yield from tile(text, opened, end, _paragraph_cuts(cuts_of, text, opened, end))


@cache
def load_splitter(name: str) -> CutsOf:
    """The function behind a splitter's name, imported on first use."""
    if name not in SPLITTERS:
        raise UsageError(f"there is no splitter {name!r}: choose {', '.join(SPLITTERS)}")
    module, _, function = SPLITTERS[name].partition(":")
    cuts_of: CutsOf = getattr(import_module(module), function)
    return cuts_of


def _paragraph_cuts(cuts_of: CutsOf, text: str, start: int, end: int) -> Iterable[int]:
    """Sorted cuts of one paragraph: the splitter's, those of unspaced scripts, none protected."""
    if start >= end:
        return ()
    cuts: Iterable[int] = cuts_of(text, start, end)
    if unspaced := list(unspaced_cuts(text, start, end)):
        cuts = sorted({*cuts, *unspaced})
    regions = protected_regions(text, start, end)
    return _outside(cuts, regions) if regions else cuts


def _outside(cuts: Iterable[int], regions: list[Span]) -> Iterator[int]:
    """The cuts that fall inside no region; both are sorted."""
    index, reach = 0, 0
    for cut in cuts:
        while index < len(regions) and regions[index][0] < cut:
            reach = max(reach, regions[index][1])
            index += 1
        if cut >= reach:
            yield cut
