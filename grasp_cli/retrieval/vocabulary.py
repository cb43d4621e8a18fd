"""The words of BM25, sorted, on disk: a word's number by binary search in the mapped file.

A dictionary of a million words takes half a second to read; this opens at once.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from grasp_cli.retrieval.arrays import open_array

WORDS, BEGINS = "words.txt", "words.npy"


def write_words(directory: Path, words: Sequence[str]) -> None:
    """Write sorted, distinct `words`, one a line, and where each line begins."""
    begins = np.zeros(len(words) + 1, np.uint64)
    with open(directory / WORDS, "wb") as stream:
        for number, word in enumerate(words):
            begins[number + 1] = begins[number] + stream.write(word.encode() + b"\n")
    np.save(directory / BEGINS, begins)


class Vocabulary:
    """What `write_words` wrote; `count` words."""

    def __init__(self, directory: Path, count: int) -> None:
        self._begins = open_array(directory / BEGINS, count + 1)
        self._range = range(count)
        self._text: mmap.mmap | bytes = b""
        if count:
            with open(directory / WORDS, "rb") as stream:
                self._text = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._text) != int(self._begins[-1]):
            raise ValueError(f"{directory / WORDS}: not as long as it should be")

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The numbers of those of `words` that are known, in their order."""
        found = map(self._number, words)
        return [number for number in found if number is not None]

    def _number(self, word: str) -> int | None:
        wanted = word.encode()
        number = bisect_left(self._range, wanted, key=self._word)
        known = number < len(self._range) and self._word(number) == wanted
        return number if known else None

    def _word(self, number: int) -> bytes:
        return self._text[int(self._begins[number]) : int(self._begins[number + 1]) - 1]
