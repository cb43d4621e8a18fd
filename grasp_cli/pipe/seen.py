"""Which ids were used before, and where, in 16 bytes an id, so that a million take little memory.

An id is held as a 64-bit hash: keyed anew in each process, so nobody can make two that collide,
and by chance a million ids do so once in thirty million runs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

_RECENT = 1 << 16  # ids in a dictionary before they go into a sorted run
_MASK = (1 << 64) - 1
_Run = tuple["array[int]", "array[int]"]  # sorted hashes, and the places beside them


class SeenIds:
    """Places (whole numbers under 2 ** 63) of ids."""

    def __init__(self) -> None:
        self._recent: dict[int, int] = {}
        self._runs: list[_Run] = []  # each at least twice as long as the next

    def first(self, key: str, place: int) -> int:
        """Where `key` was used first: `place` itself if that is now."""
        hashed = hash(key) & _MASK
        for hashes, places in self._runs:
            at = bisect_left(hashes, hashed)
            if at < len(hashes) and hashes[at] == hashed:
                return places[at]
        found = self._recent.setdefault(hashed, place)
        if len(self._recent) >= _RECENT:
            self._settle()
        return found

    def _settle(self) -> None:
        """Recent ids become a run; runs of about a size become one."""
        hashes = sorted(self._recent)
        run = array("Q", hashes), array("Q", map(self._recent.__getitem__, hashes))
        self._recent = {}
        while self._runs and len(self._runs[-1][0]) < 2 * len(run[0]):
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)


def _merged(one: _Run, other: _Run) -> _Run:
    import numpy as np

    hashes = np.concatenate([np.frombuffer(run[0], np.uint64) for run in (one, other)])
    places = np.concatenate([np.frombuffer(run[1], np.uint64) for run in (one, other)])
    order = np.argsort(hashes, kind="stable")
    return array("Q", hashes[order].tobytes()), array("Q", places[order].tobytes())
