"""Methods that need no model: everything, and the first sentences of each passage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.tasks import Candidate, Selection, Task, runs
from grasp_cli.defaults import CompressDefaults


class Everything:
    """No compression: what the others are compared with."""

    name = "none"

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Every sentence of every passage."""
        return [_first(task, None) for task in tasks]


class Lead:
    """The first sentences of each passage, whatever the question."""

    name = "lead"

    def __init__(self, options: CompressDefaults) -> None:
        self.options = options

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """The first `lead_sentences` of every passage."""
        return [_first(task, self.options.lead_sentences) for task in tasks]


def _first(task: Task, most: int | None) -> Selection:
    units: list[Candidate] = []
    for passage in task.passages:
        positions = range(len(passage.sentences))[:most]
        units += [Candidate([run], None) for run in runs(passage, len(units), positions, None)]
    return Selection(units, list(range(len(units))))
