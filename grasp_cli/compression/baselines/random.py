"""Sentences drawn at random up to the budget: the floor under every method that chooses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from grasp_cli.compression.baselines.passages import candidates, units_of
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.defaults import SCORE_DECIMALS, CompressDefaults


class RandomSentences:
    """Gives each sentence a random score, and leaves the choice to the budget (`--rate`).

    The scores depend on the seed, the record's id and the sentence's number alone, so that neither
    the batch nor the order of the records changes them.
    """

    name = "random"

    def __init__(self, options: CompressDefaults) -> None:
        self.options = options

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Every sentence, scored."""
        return [self._selection(task) for task in tasks]

    def _selection(self, task: Task) -> Selection:
        drawn = Random(f"{self.options.seed} {task.record.get('id')}")
        units = units_of(task, "sentence")
        scores = [round(drawn.random(), SCORE_DECIMALS) for _ in units]
        return Selection(candidates(task, units, scores), list(range(len(units))))
