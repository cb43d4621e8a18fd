"""A coarse filter as a method of its own: of every passage the best sentences stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression import quitox
from grasp_cli.compression.grasp import CoarseFilter
from grasp_cli.compression.tasks import Candidate, Selection, Task, runs
from grasp_cli.defaults import CompressDefaults
from grasp_cli.pipe.errors import RecordError


class SentenceFilter:
    """Keeps max(k_min, ceil(r n)) of a passage's n sentences; each is a unit of its own."""

    def __init__(self, name: str, scorer: CoarseFilter, options: CompressDefaults) -> None:
        self.name = name
        self.scorer = scorer
        self.options = options

    def load(self) -> None:
        """Load the model."""
        self.scorer.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Choose the sentences of a window of tasks."""
        refusals = [self.scorer.refusal(task) for task in tasks]
        fit = [task for task, why in zip(tasks, refusals, strict=True) if why is None]
        scored = iter(zip(fit, self.scorer.scores(fit), strict=True))
        return [why or self._selection(*next(scored)) for why in refusals]

    def _selection(self, task: Task, scores: list[npt.NDArray[np.float64]]) -> Selection:
        options = self.options
        survivors = [
            quitox.kept(own, options.coarse_ratio, options.quitox_min_keep) for own in scores
        ]
        units: list[Candidate] = []
        kept: list[int] = []
        for passage, own, staying in zip(task.passages, scores, survivors, strict=True):
            stays = set(staying)
            for position, score in enumerate(own.tolist()):
                if position in stays:
                    kept.append(len(units))
                units.append(Candidate(runs(passage, len(units), [position], score), score))
        return Selection(
            units,
            kept,
            after_coarse=len(kept),
            coarse=scores,
            survivors=survivors,
        )
