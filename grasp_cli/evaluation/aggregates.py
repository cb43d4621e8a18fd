"""Values of many records to one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a `share` (0 to 1) of the values lies, interpolated linearly."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def rate(values: Sequence[float]) -> float | None:
    """How many in a second, where each took so many seconds; None where they took no time."""
    total = sum(values)
    return len(values) / total if total else None


STATISTICS: dict[str, Callable[[Sequence[float]], float | None]] = {
    "mean": mean,
    "p50": lambda values: percentile(values, 0.5),
    "p95": lambda values: percentile(values, 0.95),
    "rate": rate,
}
