"""Values of many records to one row of a table; the values stay, the records do not."""

from __future__ import annotations

from array import array
from typing import Any

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.metrics import METRICS
from grasp_cli.evaluation.scoring import Scored


class Summary:
    """Collects what was scored under one label."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.n = 0
        self.failed = 0
        self.missing = 0
        self.values = {metric.name: array("d") for metric in METRICS}

    def add(self, scored: Scored) -> None:
        """Count one expected question."""
        self.n += 1
        self.failed += scored.failed
        self.missing += scored.missing
        for name, value in scored.values.items():
            self.values[name].append(value)

    def mean(self, name: str) -> float | None:
        """The mean over the questions that have a value; None where none has."""
        values = self.values[name]
        return round(sum(values) / len(values), SCORE_DECIMALS) if values else None

    def row(self) -> dict[str, Any]:
        """Label, counts and the mean of every metric."""
        counts = {"n": self.n, "failed": self.failed, "missing": self.missing}
        return {"label": self.label, **counts, **{name: self.mean(name) for name in self.values}}
