"""Methods side by side: rows per dataset and overall, and each method against the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from grasp_cli.evaluation.comparison import OVERALL, Evaluation
from grasp_cli.evaluation.summary import Summary, merged
from grasp_cli.pipe.errors import UsageError

if TYPE_CHECKING:
    from grasp_cli.evaluation.differences import Difference


FALLBACK = "evidence_recall"  # the quality of methods that were not answered from


class Group(NamedTuple):
    """What is compared with each other: the methods on one dataset, or on all of them."""

    dataset: str
    methods: list[Summary]


class Methods:
    """Finished evaluations side by side.

    Parameters
    ----------
    evaluations
        One per method, in the order of the table's rows.
    baseline
        The label of the row that the others are compared with; "LABEL (full)" is the row of the
        full contexts. None: nothing is compared.

    Raises
    ------
    UsageError
        No row is called `baseline`.
    """

    def __init__(self, evaluations: Sequence[Evaluation], baseline: str | None = None) -> None:
        self._rows = [rows for each in evaluations for rows in _rows_of(each)]
        self.datasets = list(dict.fromkeys(name for rows in self._rows for name in rows))
        self.baseline = baseline
        labels = [next(iter(rows.values())).label for rows in self._rows if rows]
        if baseline is not None and baseline not in labels:
            raise UsageError(f'--baseline: no row "{baseline}"; there are {", ".join(labels)}')

    @cached_property
    def groups(self) -> list[Group]:
        """The methods on each dataset, then, where there are several datasets, overall."""
        found = [
            Group(name, [rows[name] for rows in self._rows if name in rows])
            for name in self.datasets
        ]
        if len(self.datasets) > 1:
            whole = [merged(rows.values(), OVERALL) for rows in self._rows if rows]
            found.append(Group(OVERALL, whole))
        return found

    @cached_property
    def differences(self) -> list[Difference]:
        """Every metric of every method against the baseline, on each dataset and overall."""
        if self.baseline is None:
            return []
        from grasp_cli.evaluation.differences import differences

        found = []
        for group in self.groups:
            for base in group.methods:
                if base.label == self.baseline:
                    found += differences(group.methods, base)
        return found

    def rows(self, *, intervals: bool = True) -> list[dict[str, Any]]:
        """A row per dataset and method, with its differences from the baseline where there is one.

        `dataset` is None where none is named.
        """
        against: dict[tuple[str, str], dict[str, Any]] = {}
        for each in self.differences:
            entries = against.setdefault((each.dataset, each.method), {"baseline": each.baseline})
            entries.update(each.entries())
        return [
            {
                "dataset": group.dataset or None,
                **method.row(intervals),
                **against.get((group.dataset, method.label), {}),
            }
            for group in self.groups
            for method in group.methods
        ]

    def told(self, metric: str) -> list[Difference]:
        """The differences in a metric, on each dataset and overall.

        Those in evidence recall on a dataset where the metric has none.
        """
        found = []
        for group in self.groups:
            own = [each for each in self.differences if each.dataset == group.dataset]
            found += [each for each in own if each.metric.name == metric] or [
                each for each in own if each.metric.name == FALLBACK
            ]
        return found

    def sentences(self, metric: str) -> list[str]:
        """One sentence per method on each dataset and overall: its difference in a metric."""
        return [each.sentence() for each in self.told(metric)]

    def notes(self) -> list[str]:
        """What a reader of the table should know of the comparison."""
        return [*self._uneven(), *self._unpaired()]

    def _uneven(self) -> Iterable[str]:
        for rows in self._rows:
            lacking = [name for name in self.datasets if name not in rows]
            if rows and lacking:
                label = next(iter(rows.values())).label
                yield f"{label}: nothing of {', '.join(lacking)}; its row overall lacks it"

    def _unpaired(self) -> Iterable[str]:
        """Questions that only one of two compared methods has."""
        for group in self.groups[: len(self.datasets)]:
            base = next((each for each in group.methods if each.label == self.baseline), None)
            for method in group.methods if base else []:
                alone = len(set(method.keys) ^ set(base.keys)) if base else 0
                if alone:
                    yield (
                        f"{method.label} vs {self.baseline}: {alone} questions are in only one of "
                        "them and not compared; --gold FILE counts them"
                    )


def _rows_of(evaluation: Evaluation) -> list[dict[str, Summary]]:
    return [evaluation.own, *([evaluation.full] if evaluation.compared else [])]
