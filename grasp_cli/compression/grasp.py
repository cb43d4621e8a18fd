"""GRASP's two steps: a coarse sentence filter, then evidence units judged by a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from grasp_cli.compression import quitox
from grasp_cli.compression.classifiers import SpanClassifier
from grasp_cli.compression.evidence_graph import components
from grasp_cli.compression.hops import rescue
from grasp_cli.compression.tasks import (
    Candidate,
    Evidence,
    Passage,
    Selection,
    Task,
    Unit,
    runs,
)
from grasp_cli.defaults import CompressDefaults
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]
Survivors = list[list[int]]  # per passage, positions of the sentences that are left


class CoarseFilter(Protocol):
    """Scores every sentence against the question."""

    def load(self) -> None:
        """Load the model."""
        ...

    def refusal(self, task: Task) -> RecordError | None:
        """Why the model cannot be asked this question, if it cannot."""
        ...

    def scores(self, tasks: Sequence[Task]) -> list[list[Floats]]:
        """Rounded scores: per task, per passage, shape (sentences,)."""
        ...


class SentenceVectors(Protocol):
    """Vectors of sentences, whose cosines make the evidence graph."""

    def load(self) -> None:
        """Load the model."""
        ...

    def vectors(
        self, tasks: Sequence[Task], survivors: Sequence[Survivors]
    ) -> list[list[npt.NDArray[np.float32]]]:
        """Vectors of the surviving sentences: per task, per passage, shape (sentences, d)."""
        ...


class Grasp:
    """Coarse filter (QUITO-X), evidence graph and span classifier (EP-EXIT)."""

    name = "grasp"

    def __init__(
        self,
        coarse: CoarseFilter | None,
        graph: SentenceVectors | None,
        classifier: SpanClassifier | None,
        options: CompressDefaults,
        borderline: float,
    ) -> None:
        self.coarse = coarse if options.coarse else None
        self.graph = graph if options.fine else None
        self.classifier = classifier if options.fine else None
        self.options = options
        self.borderline = borderline  # scores this near the threshold are counted

    def load(self) -> None:
        """Load the models that the options ask for."""
        if self.coarse:
            self.coarse.load()
        if self.classifier:
            self.classifier.load()
        if self.graph:
            self.graph.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Choose the sentences of a window of tasks."""
        limits = [self._refusal(task) for task in tasks]
        fit = [task for task, limit in zip(tasks, limits, strict=True) if limit is None]
        done = iter(self._select(fit))
        return [limit or next(done) for limit in limits]

    def _refusal(self, task: Task) -> RecordError | None:
        models = [model for model in (self.coarse, self.classifier) if model]
        return next((why for model in models if (why := model.refusal(task))), None)

    def _select(self, tasks: list[Task]) -> list[Selection]:
        scores = self.coarse.scores(tasks) if self.coarse else None
        survivors = [
            self._survivors(task, _of(scores, number)) for number, task in enumerate(tasks)
        ]
        if self.graph is None or self.classifier is None:
            return [
                _survivors_as_units(task, left, _of(scores, number))
                for number, (task, left) in enumerate(zip(tasks, survivors, strict=True))
            ]
        units = self._units(self.graph, tasks, survivors)
        judged = self._judged(self.classifier, tasks, units)
        return [
            replace(
                selection,
                after_coarse=sum(map(len, survivors[number])),
                coarse=_of(scores, number),
                survivors=survivors[number],
            )
            for number, selection in enumerate(judged)
        ]

    def _survivors(self, task: Task, scores: list[Floats] | None) -> Survivors:
        if scores is None:
            return [list(range(len(passage.sentences))) for passage in task.passages]
        options = self.options
        return [quitox.kept(own, options.coarse_ratio, options.quitox_min_keep) for own in scores]

    def _units(
        self, graph: SentenceVectors, tasks: list[Task], survivors: list[Survivors]
    ) -> list[list[Unit]]:
        return [
            [
                Unit(passage, found)
                for passage, (positions, vectors) in enumerate(zip(left, own, strict=True))
                for found in self._components(positions, vectors)
            ]
            for left, own in zip(survivors, graph.vectors(tasks, survivors), strict=True)
        ]

    def _components(
        self, positions: list[int], vectors: npt.NDArray[np.float32]
    ) -> list[tuple[int, ...]]:
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return components(
            positions,
            vectors / lengths,
            threshold=self.options.similarity_threshold,
            window=self.options.locality_window,
        )

    def _judged(
        self, classifier: SpanClassifier, tasks: list[Task], units: list[list[Unit]]
    ) -> list[Selection]:
        return judged(classifier, tasks, units, self.options, self.borderline)


def judged(
    classifier: SpanClassifier,
    tasks: Sequence[Task],
    units: Sequence[Sequence[Unit]],
    options: CompressDefaults,
    borderline: float,
) -> list[Selection]:
    """Score the units of each task; those at the threshold or above are kept."""
    threshold = options.fine_threshold
    scored = classifier.score(tasks, units)
    cut = classifier.cut_tokens or [0] * len(tasks)
    selections = [
        Selection(
            [
                Candidate(runs(task.passages[unit.passage], number, unit.sentences, score), score)
                for number, (unit, score) in enumerate(zip(own, scores.tolist(), strict=True))
            ],
            np.flatnonzero(scores >= threshold).tolist(),
            judged=True,
            borderline=int(np.sum(np.abs(scores - threshold) <= borderline + 1e-9)),
            context_cut=lost,
        )
        for task, own, scores, lost in zip(tasks, units, scored, cut, strict=True)
    ]
    return rescue(classifier, tasks, units, selections, threshold=threshold, hops=options.hops)


def _survivors_as_units(task: Task, survivors: Survivors, scores: list[Floats] | None) -> Selection:
    """Without the fine step each run of adjacent survivors is a unit of its own."""
    units: list[Candidate] = []
    for passage, positions in zip(task.passages, survivors, strict=True):
        for item in runs(passage, 0, positions, None):
            score = _best_score(passage, item, scores)
            units.append(Candidate([item._replace(unit=len(units), score=score)], score))
    return Selection(
        units,
        list(range(len(units))),
        after_coarse=sum(map(len, survivors)),
        coarse=scores,
        survivors=survivors,
    )


def _of(scores: list[list[Floats]] | None, task: int) -> list[Floats] | None:
    return None if scores is None else scores[task]


def _best_score(passage: Passage, item: Evidence, scores: list[Floats] | None) -> float | None:
    if scores is None:
        return None
    own = scores[passage.number]
    inside = [
        own[position]
        for position, sentence in enumerate(passage.sentences)
        if item.start <= sentence.start < item.end
    ]
    return float(max(inside))
