"""Values of many records to one row of a table; the values stay, the records do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.aggregates import STATISTICS
from grasp_cli.evaluation.column import Column
from grasp_cli.evaluation.metrics import BY_NAME, METRICS, SOURCES, Metric
from grasp_cli.evaluation.scoring import Scored

_NAN = float("nan")


class Key(NamedTuple):
    """What a question is found by. `dataset` is "" where nobody names one."""

    dataset: str
    id: str


class Summary:
    """What was scored under one label: for each metric a value per question, NaN where none is."""

    def __init__(self, label: str, dataset: str = "") -> None:
        self.label = label
        self.dataset = dataset
        self.failed = 0
        self.missing = 0
        self.n = 0  # how many questions
        self.keys: list[Key] = []  # theirs, in order, where they are to be found again
        self.values = {name: Column() for name in SOURCES}

    def add(self, key: Key | None, scored: Scored) -> None:
        """Count one expected question; `key` is None where nobody will look for it."""
        self.n += 1
        if key is not None:
            self.keys.append(key)
        self.failed += scored.failed
        self.missing += scored.missing
        found = scored.values
        for name, column in self.values.items():
            column.append(found.get(name, _NAN))

    def forget(self, names: Iterable[str]) -> None:
        """Treat these metrics as not known of any question."""
        for name in names:
            self.values[name] = Column([_NAN] * self.n)

    def extend(self, other: Summary) -> None:
        """Count the questions of another summary, too."""
        self.n += other.n
        self.keys += other.keys
        self.failed += other.failed
        self.missing += other.missing
        for name, column in self.values.items():
            column.extend(other.values[name])

    def value(self, metric: Metric) -> float | None:
        """A metric over the questions that have a value; None where none has."""
        known = [value for value in self.values[metric.values] if value == value]
        found = STATISTICS[metric.statistic](known) if known else None
        return None if found is None else round(found, SCORE_DECIMALS)

    def mean(self, name: str) -> float | None:
        """The mean of a metric's values, by its name."""
        return self.value(BY_NAME[name])

    def row(self, intervals: bool = False) -> dict[str, Any]:
        """Label, counts and every metric.

        With `intervals`, the ends of a bootstrap interval of each share under `name_low` and
        `name_high`, None where fewer than two questions have a value.
        """
        counts = {"n": self.n, "failed": self.failed, "missing": self.missing}
        values = {metric.name: self.value(metric) for metric in METRICS}
        row = {"label": self.label, **counts, **values}
        return row | self._intervals() if intervals else row

    def _intervals(self) -> dict[str, float | None]:
        import numpy as np

        from grasp_cli.evaluation.statistics import known_intervals

        names = [metric.name for metric in METRICS if metric.unit == "share"]
        columns = [np.array(self.values[name].array()) for name in names]
        found = known_intervals(np.stack(columns, axis=1))
        return {
            f"{name}_{end}": None if value != value else round(float(value), SCORE_DECIMALS)
            for name, ends in zip(names, found, strict=True)
            for end, value in zip(("low", "high"), ends, strict=True)
        }


def merged(summaries: Iterable[Summary], dataset: str) -> Summary:
    """One summary of all questions of several (at least one), under the label of the first."""
    first, *others = summaries
    whole = Summary(first.label, dataset)
    for part in (first, *others):
        whole.extend(part)
    return whole
