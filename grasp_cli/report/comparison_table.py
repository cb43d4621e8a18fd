"""The comparison of methods as a table, and their scores question by question."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import Metric
from grasp_cli.report.tables import Column, Table

_BEST = {"share": "high", "seconds": "low"}


def metric_columns(metrics: Sequence[Metric], *, intervals: bool = True) -> list[Column]:
    """A column per metric; shares with their intervals."""
    return [
        Column(
            metric.name,
            metric.heading,
            metric.unit,
            intervals and metric.unit == "share",
            _BEST.get(metric.unit, ""),
        )
        for metric in metrics
    ]


def comparison_table(
    methods: Methods,
    metrics: Sequence[Metric],
    *,
    intervals: bool = True,
    programs: bool = False,
) -> Table:
    """A row per dataset and method, best values marked; `programs` also get the differences."""
    columns = [Column("label", "", "text"), *metric_columns(metrics, intervals=intervals)]
    if any(methods.datasets):
        columns.insert(0, Column("dataset", "dataset", "text"))
    if methods.baseline and programs:
        names = dict.fromkeys(key for each in methods.differences for key in each.entries())
        columns += [Column(name, name, "text") for name in ("baseline", *names)]
    return Table(columns, methods.rows(intervals=intervals), "dataset")


def score_lines(methods: Methods, delimiter: str = ",") -> Iterator[str]:
    """A line per dataset, method and question, with every value that some question has.

    What is not known is empty; shares run from 0 to 1.
    """
    parts = [each for group in methods.groups[: len(methods.datasets)] for each in group.methods]
    names = [
        name
        for name in (parts[0].values if parts else ())
        if any(value == value for part in parts for value in part.values[name])
    ]
    yield _line(["dataset", "label", "id", *names], delimiter)
    for part in parts:
        columns = [part.values[name].array() for name in names]
        for place, key in enumerate(part.keys):
            values = (column[place] for column in columns)
            shown = ("" if value != value else f"{value:g}" for value in values)
            yield _line([key.dataset, part.label, key.id, *shown], delimiter)


def _line(cells: Sequence[str], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
    return text.getvalue()
