"""Methods against a baseline, question by question: by how much, how sure, and in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.metrics import OF_RECORDS, Metric
from grasp_cli.evaluation.significance import holm, mcnemar, permutation_tests
from grasp_cli.evaluation.statistics import known_intervals
from grasp_cli.evaluation.summary import Summary

Floats = npt.NDArray[np.float64]

PERMUTATION, MCNEMAR = "permutation", "mcnemar"
_LEAST_P = 0.001  # what a sentence tells apart


@dataclass(frozen=True)
class Difference:
    """The mean of method less baseline over the `n` questions of which both have a value.

    `low` and `high` are the ends of its 95 % bootstrap interval (None: one question only), `p`
    the two-sided p value of `test`, `p_holm` the same adjusted for the methods that were compared.
    """

    dataset: str
    method: str
    baseline: str
    metric: Metric
    n: int
    value: float
    low: float | None
    high: float | None
    p: float
    p_holm: float
    test: str

    def sentence(self) -> str:
        """As in "grasp vs none: F1 +3.1 [+0.4, +5.9], p = 0.02, n = 100"."""
        value, low, high = (_signed(x, self.metric.unit) for x in (self.value, self.low, self.high))
        interval = "" if self.low is None else f" [{low}, {high}]"
        where = f"{self.dataset}: " if self.dataset else ""
        return (
            f"{where}{self.method} vs {self.baseline}: {self.metric.heading} {value}{interval}, "
            f"{shown_p(self.p_holm)}, n = {self.n}"
        )

    def entries(self) -> dict[str, Any]:
        """What a program gets of it in the method's row."""
        name = self.metric.name
        return {
            f"{name}_diff": self.value,
            f"{name}_diff_low": self.low,
            f"{name}_diff_high": self.high,
            f"{name}_diff_n": self.n,
            f"{name}_p": self.p,
            f"{name}_p_holm": self.p_holm,
            f"{name}_test": self.test,
        }


def differences(methods: Sequence[Summary], baseline: Summary) -> list[Difference]:
    """Every metric of every other method against the baseline, p values adjusted per metric."""
    found = [
        each for method in methods if method is not baseline for each in _against(method, baseline)
    ]
    by_metric: dict[str, list[int]] = {}
    for place, each in enumerate(found):
        by_metric.setdefault(each.metric.name, []).append(place)
    for places in by_metric.values():
        for place, p in zip(places, holm([found[place].p for place in places]), strict=True):
            found[place] = replace(found[place], p_holm=p)
    return found


def paired(method: Summary, baseline: Summary, names: Iterable[str]) -> Floats:
    """Values of method less baseline, shape (questions of both, metrics), NaN where none is."""
    places = {key: place for place, key in enumerate(baseline.keys)}
    both = [(own, places[key]) for own, key in enumerate(method.keys) if key in places]
    own, theirs = (list(side) for side in zip(*both, strict=True)) if both else ([], [])
    columns = [
        np.array(method.values[name].array())[own] - np.array(baseline.values[name].array())[theirs]
        for name in names
    ]
    return np.stack(columns, axis=1)


def explained_tests(found: Sequence[Difference]) -> str:
    """What the numbers of the sentences are, in one line."""
    methods = len({each.method for each in found})
    adjusted = f", Holm-adjusted over {methods} methods" if methods > 1 else ""
    tests = {
        PERMUTATION: "paired permutation test",
        MCNEMAR: "McNemar's exact test",
    }
    used = " or ".join(tests[test] for test in tests if any(each.test == test for each in found))
    return f"difference of the means [95 % paired bootstrap interval], p: {used}{adjusted}"


def shown_p(p: float) -> str:
    """A p value as people read it."""
    return f"p < {_LEAST_P}" if p < _LEAST_P else f"p = {p:.2g}"


def _against(method: Summary, baseline: Summary) -> Iterator[Difference]:
    matrix = paired(method, baseline, [metric.name for metric in OF_RECORDS])
    known = np.isfinite(matrix)
    intervals = known_intervals(matrix)
    tested = permutation_tests(matrix)
    for column, metric in enumerate(OF_RECORDS):
        values = matrix[known[:, column], column]
        if not len(values):
            continue
        p, test = float(tested[column]), PERMUTATION
        if _binary(method, metric.name) and _binary(baseline, metric.name):
            p, test = mcnemar(int((values > 0).sum()), int((values < 0).sum())), MCNEMAR
        low, high = (None if x != x else _rounded(x) for x in intervals[column])
        yield Difference(
            method.dataset,
            method.label,
            baseline.label,
            metric,
            len(values),
            _rounded(values.mean()),
            low,
            high,
            p,
            p,
            test,
        )


def _binary(summary: Summary, name: str) -> bool:
    """Whether every value is right or wrong, 1 or 0."""
    values = np.array(summary.values[name].array())
    return bool(np.isin(values[np.isfinite(values)], (0.0, 1.0)).all())


def _signed(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "share":
        return f"{100 * value:+.1f}"
    return f"{value:+.3f} s" if unit == "seconds" else f"{value:+.1f}"


def _rounded(value: float) -> float:
    return round(float(value), SCORE_DECIMALS)
