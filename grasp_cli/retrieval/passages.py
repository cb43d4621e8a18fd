"""Long documents cut into passages of whole sentences, as spans of the document's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.tokens import count_words
from grasp_cli.text import segment


@dataclass(frozen=True)
class Passage:
    """A stretch of a document: its whole text, or the part of that number at [start, end)."""

    document: Record
    text: str
    part: int | None = None
    start: int = 0
    end: int = 0


def cut(document: Record, most: int, overlap: int = 0) -> Iterator[Passage]:
    """Passages of at most `most` words (0 = any number), in order.

    A document that fits stays whole. Otherwise there are as few passages as whole sentences
    allow, as equal in length as they can be. A sentence, fence or table of more than `most` words
    is a passage of its own, uncut. Each passage but the first begins with the last `overlap`
    sentences of the one before, or fewer where it would not fit otherwise.
    """
    text: str = document["text"]
    if most == 0 or count_words(text) <= most:
        yield Passage(document, text)
        return
    segments = segment(text)
    sizes = [count_words(text[piece.start : piece.end]) for piece in segments]
    for part, (first, last) in enumerate(balanced(sizes, most, overlap)):
        start, end = segments[first].start, segments[last - 1].end
        yield Passage(document, text[start:end], part, start, end)


def balanced(sizes: Sequence[int], most: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Group neighbours into the fewest runs [first, last) of at most `most` in sum.

    Among the groupings of that number the one with the least sum of squared sums, which is the
    most even one; an element larger than `most` is alone. Each run but the first also begins
    `overlap` elements early, which count; a run with a single new element begins less early where
    it would be too large. Linear in elements times elements per run.
    """
    before = [0, *accumulate(sizes)]  # sum of the first i elements
    best: list[tuple[int, int]] = [(0, 0)]  # (runs, sum of squares) of the first i elements
    begins: list[tuple[int, int]] = []  # of the last of these runs: new elements, all elements
    for end in range(1, len(sizes) + 1):
        chosen, begin = None, (end - 1, end - 1)
        for first in range(end - 1, -1, -1):
            early = max(0, first - overlap)
            if before[end] - before[early] > most:
                if first < end - 1:
                    break
                while early < first and before[end] - before[early] > most:
                    early += 1
            cost = (best[first][0] + 1, best[first][1] + (before[end] - before[early]) ** 2)
            if chosen is None or cost < chosen:
                chosen, begin = cost, (first, early)
        best.append(chosen or (0, 0))
        begins.append(begin)
    runs, end = [], len(sizes)
    while end:
        first, early = begins[end - 1]
        runs.append((early, end))
        end = first
    return runs[::-1]
