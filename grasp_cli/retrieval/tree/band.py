"""A symmetric matrix of chunks that is 0 but near its diagonal: what windows say of their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


class Band:
    """The mean of what windows say of each pair of chunks, 0 where no window holds both.

    Only the entries of pairs that share a window are stored, so that memory grows with the number
    of chunks. It is a `linkage.Relation`.

    Parameters
    ----------
    count : chunks
    windows : chunks [first, last) of every window that will be added
    """

    def __init__(self, count: int, windows: Sequence[tuple[int, int]]) -> None:
        self._count = count
        self._first = np.arange(count)
        self._last = np.arange(1, count + 1)
        for first, last in windows:
            np.minimum(self._first[first:last], first, out=self._first[first:last])
            np.maximum(self._last[first:last], last, out=self._last[first:last])
        widths = self._last - self._first
        self._start = np.concatenate([[0], np.cumsum(widths)])
        self._sum = np.zeros(int(self._start[-1]), np.float32)
        self._seen = np.zeros(int(self._start[-1]), np.uint16)

    def __len__(self) -> int:
        return self._count

    def add(self, first: int, matrix: Floats) -> None:
        """What a window says of its chunks from `first` on, shape (chunks, chunks), symmetric."""
        for row, values in enumerate(matrix, start=first):
            place = int(self._start[row] + first - self._first[row])
            self._sum[place : place + len(values)] += values
            self._seen[place : place + len(values)] += 1

    def row(self, number: int) -> npt.NDArray[Any]:
        """The relation of a chunk to each one, shape (n,)."""
        found = np.zeros(self._count, np.float32)
        inside = slice(int(self._start[number]), int(self._start[number + 1]))
        seen = np.maximum(self._seen[inside], 1)
        found[self._first[number] : self._last[number]] = self._sum[inside] / seen
        return found
