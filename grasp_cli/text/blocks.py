"""A document as atomic blocks and sentences: `segment`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from grasp_cli.text.fences import fence_end, literal_end
from grasp_cli.text.headings import heading_end, is_rule
from grasp_cli.text.lines import Line, scan_lines
from grasp_cli.text.lists import item_end
from grasp_cli.text.sentences import DEFAULT_SPLITTER, sentences_within
from grasp_cli.text.spans import trim
from grasp_cli.text.tables import table_end


class Segment(NamedTuple):
    """[start, end) of a text in Unicode characters, and what stands there.

    `kind` is `sentence`, `heading`, `code`, `table` or `list` (one item).
    """

    start: int
    end: int
    kind: str


class _Block(NamedTuple):
    """Lines [first, last) that are not prose."""

    first: int
    last: int
    kind: str


def segment(text: str, splitter: str = DEFAULT_SPLITTER) -> list[Segment]:
    """`text` as atomic blocks (fenced code, tables, list items, headings) and sentences.

    The segments are disjoint and in order, begin and end with something other than white space,
    and leave out nothing but white space.

    Parameters
    ----------
    text : a document, plain or in Markdown or reStructuredText
    splitter : what splits the prose between the blocks, a name of `SPLITTERS`

    Raises
    ------
    UsageError
        There is no splitter of that name.
    """
    return list(_segments(text, splitter))


def _segments(text: str, splitter: str) -> Iterator[Segment]:
    lines = scan_lines(text)
    prose = 0
    for block in _blocks(lines):
        start, end = lines[block.first].start, lines[block.last - 1].end
        yield from _sentences(text, prose, start, splitter)
        yield Segment(*trim(text, start, end), block.kind)
        prose = end
    yield from _sentences(text, prose, len(text), splitter)


def _sentences(text: str, start: int, end: int, splitter: str) -> Iterator[Segment]:
    for span in sentences_within(text, start, end, splitter):
        yield Segment(*span, "sentence")


def _blocks(lines: list[Line]) -> Iterator[_Block]:
    """The blocks of a document in order; what lies between them is prose."""
    index, fresh = 0, True
    while index < len(lines):
        if not lines[index].body:
            index, fresh = index + 1, True
            continue
        block = _block_at(lines, index, fresh)
        if block is None:
            index, fresh = index + 1, False
            continue
        yield block
        index, fresh = block.last, True


def _block_at(lines: list[Line], index: int, fresh: bool) -> _Block | None:
    """The block that begins at line `index`, or that this line announces."""
    if (end := fence_end(lines, index)) is not None:
        return _Block(index, end, "code")
    if (end := table_end(lines, index)) is not None:
        return _Block(index, end, "table")
    if (end := item_end(lines, index, fresh)) is not None:
        return _Block(index, end, "list")
    if (end := heading_end(lines, index, fresh)) is not None:
        return _Block(index, end, "heading")
    if is_rule(lines[index].body):
        return _Block(index, index + 1, "sentence")
    if (literal := literal_end(lines, index)) is not None:
        return _Block(*literal, "code")
    return None
