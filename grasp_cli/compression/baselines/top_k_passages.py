"""The passages that the retriever ranked first, whole: retrieving less instead of compressing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.passages import whole_passages
from grasp_cli.compression.blocks import rank_of
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.defaults import CompressDefaults


class TopKPassages:
    """Keeps the `top_k_spans` best ranked passages."""

    name = "top-k-passages"

    def __init__(self, options: CompressDefaults) -> None:
        self.options = options

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Passages by their rank, by their place where none is stated."""
        return [self._selection(task) for task in tasks]

    def _selection(self, task: Task) -> Selection:
        contexts = task.record.get("contexts", [])
        order = sorted(range(len(contexts)), key=lambda number: (rank_of(contexts, number), number))
        units = whole_passages(task, order)
        return Selection(units, list(range(len(units)))[: self.options.top_k_spans])
