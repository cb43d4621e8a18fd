"""A value per question, of a metric: nothing is stored while all of them are the same.

Most metrics of a file are that, absent (NaN) or 0, since no file has everything that can be scored.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

_NAN = float("nan")


class Column:
    """Floats, in order; 8 bytes each once two of them differ."""

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._same = _NAN
        self._count = 0
        self._values: array[float] | None = None
        for value in values:
            self.append(value)

    def append(self, value: float) -> None:
        """Add one."""
        if self._values is not None:
            self._values.append(value)
        elif not self._count or _equal(value, self._same):
            self._same, self._count = value, self._count + 1
        else:
            self._values = self.array()
            self._values.append(value)

    def extend(self, other: Column) -> None:
        """Add all of another."""
        both = self._values is None and other._values is None
        if both and (not self._count or not other._count or _equal(self._same, other._same)):
            self._same = other._same if other._count else self._same
            self._count += other._count
            return
        self._values = self.array()
        self._values.extend(other.array())

    def array(self) -> array[float]:
        """All of them, stored."""
        return self._values if self._values is not None else array("d", [self._same]) * self._count

    def __len__(self) -> int:
        return len(self._values) if self._values is not None else self._count

    def __iter__(self) -> Iterator[float]:
        return iter(self.array())


def _equal(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)
