"""Axes of plots: a range with round numbers in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, both multiples of the step between the `ticks`."""

    low: float
    high: float
    ticks: list[float]

    def share(self, value: float) -> float:
        """Where a value stands between the ends, 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def axis(values: Sequence[float], most: int = 6) -> Axis:
    """An axis on which all values (at least one) stand, with about `most` round numbers."""
    low, high = min(values), max(values)
    if high - low < 1e-12:
        room = abs(high) * 0.1 or 0.1
        low, high = low - room if low > room else 0.0, high + room
    power = 10.0 ** floor(log10((high - low) / most))
    step = next(s * power for s in _STEPS if (high - low) / (s * power) <= most)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = [round(number * step, 12) for number in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks)
