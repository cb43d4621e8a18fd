"""The beginning of the contexts as they are written, cut where the budget ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.passages import whole_passages
from grasp_cli.compression.blocks import whole
from grasp_cli.compression.tasks import Selection, Task


class Truncate:
    """What a reader with a small window would see: the best ranked documents, then nothing."""

    name = "truncate"

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """All passages in the order of the context; the budget cuts them off."""
        return [_selection(task) for task in tasks]


def _selection(task: Task) -> Selection:
    order = [run.passage for run in whole(task.record.get("contexts", []))]
    units = whole_passages(task, order)
    return Selection(units, list(range(len(units))), leading=True)
