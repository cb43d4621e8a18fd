"""The first sentences of each passage, whatever the question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.tasks import Candidate, Selection, Task, runs
from grasp_cli.defaults import CompressDefaults


class Lead:
    """Keeps the beginnings."""

    name = "lead"

    def __init__(self, options: CompressDefaults) -> None:
        self.options = options

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """The first `lead_sentences` of every passage."""
        return [first_sentences(task, self.options.lead_sentences) for task in tasks]


def first_sentences(task: Task, most: int | None) -> Selection:
    """At most so many sentences of each passage (None: all), each passage's a unit."""
    units: list[Candidate] = []
    for passage in task.passages:
        positions = range(len(passage.sentences))[:most]
        units += [Candidate([run], None) for run in runs(passage, len(units), positions, None)]
    return Selection(units, list(range(len(units))))
