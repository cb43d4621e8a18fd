"""Quality against cost: a point per method, and which points no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.methods import FALLBACK, Group, Methods
from grasp_cli.evaluation.metrics import BY_NAME
from grasp_cli.evaluation.statistics import known_intervals
from grasp_cli.evaluation.summary import Summary

TOKENS = ("tokens", ("tokens_out", "prompt_tokens"))
SECONDS = ("seconds", ("seconds_total", "latency_total", "seconds_compress", "latency_compress"))
_MEANINGS = {
    "tokens_out": "tokens of the context",
    "prompt_tokens": "tokens that the reader read",
    "seconds_total": "seconds end to end",
    "latency_total": "seconds end to end, one at a time",
    "seconds_compress": "seconds to compress",
    "latency_compress": "seconds to compress, one at a time",
}


@dataclass(frozen=True)
class Spread:
    """A mean and the ends of its 95 % bootstrap interval (equal to it where there is none)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """A method: what it costs and how good it is; `best` where no other beats it in both."""

    label: str
    cost: Spread
    quality: Spread
    best: bool = False


@dataclass(frozen=True)
class Plot:
    """Points of one group of methods; `lacking` names the methods without one of the values."""

    dataset: str
    quality: str
    cost: str
    unit: str
    points: list[Point]
    lacking: list[str]


def plots(methods: Methods, quality: str) -> list[Plot]:
    """Quality against tokens and against seconds, on each dataset and overall.

    A plot that would have no point is left out.
    """
    found = [
        _plot(group, chosen_quality(group, quality), unit, names)
        for group in methods.groups
        for unit, names in (TOKENS, SECONDS)
    ]
    return [each for each in found if each.points]


def chosen_quality(group: Group, quality: str) -> str:
    """The quality metric, or evidence recall where no method has a value of it."""
    known = any(np.isfinite(_column(each, quality)).any() for each in group.methods)
    return quality if known else FALLBACK


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: cheapest first, each better than all that cost less."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost.mean, -p.quality.mean, p.label)):
        if not found or point.quality.mean > found[-1].quality.mean:
            found.append(point)
    return found


def _plot(group: Group, quality: str, unit: str, names: Sequence[str]) -> Plot:
    name = _first_known(group, names)
    points, lacking = [], []
    for method in group.methods:
        columns = np.stack([_column(method, name), _column(method, quality)], axis=1)
        if np.isfinite(columns).any(axis=0).all():
            cost, good = _spreads(columns)
            points.append(Point(method.label, cost, good))
        else:
            lacking.append(method.label)
    best = {point.label for point in frontier(points)}
    points = [Point(p.label, p.cost, p.quality, p.label in best) for p in points]
    metric = BY_NAME.get(quality)
    heading = metric.heading if metric else quality
    return Plot(group.dataset, heading, _MEANINGS[name], unit, points, lacking)


def _first_known(group: Group, names: Sequence[str]) -> str:
    """The name of a cost that most methods know, the first of those."""
    counts = [
        sum(bool(np.isfinite(_column(each, name)).any()) for each in group.methods)
        for name in names
    ]
    return names[counts.index(max(counts))]


def _spreads(columns: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[Spread]:
    means = np.nanmean(columns, axis=0)
    ends = known_intervals(columns)
    return [
        Spread(*map(_rounded, (mean, *(end if np.isfinite(end).all() else (mean, mean)))))
        for mean, end in zip(means, ends, strict=True)
    ]


def _rounded(value: float) -> float:
    return round(float(value), SCORE_DECIMALS)


def _column(method: Summary, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    values = method.values.get(name)
    return np.full(method.n, np.nan) if values is None else np.array(values.array())
