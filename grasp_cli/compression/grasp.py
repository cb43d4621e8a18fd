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
from grasp_cli.models.encoder import Encoder
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


class Grasp:
    """Coarse filter (QUITO-X), evidence graph and span classifier (EP-EXIT)."""

    name = "grasp"

    def __init__(
        self,
        coarse: CoarseFilter | None,
        embedder: Encoder | None,
        classifier: SpanClassifier | None,
        options: CompressDefaults,
        borderline: float,
    ) -> None:
        self.coarse = coarse if options.coarse else None
        self.embedder = embedder if options.fine else None
        self.classifier = classifier if options.fine else None
        self.options = options
        self.borderline = borderline  # scores this near the threshold are counted

    def load(self) -> None:
        """Load the models that the options ask for."""
        if self.coarse:
            self.coarse.load()
        if self.classifier:
            self.classifier.load()
        if self.embedder:
            self.embedder.embed([""])

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
        if self.embedder is None or self.classifier is None:
            return [
                _survivors_as_units(task, left, _of(scores, number))
                for number, (task, left) in enumerate(zip(tasks, survivors, strict=True))
            ]
        units = self._units(self.embedder, tasks, survivors)
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
        self, embedder: Encoder, tasks: list[Task], survivors: list[Survivors]
    ) -> list[list[Unit]]:
        texts = [
            passage.sentence(position)
            for task, left in zip(tasks, survivors, strict=True)
            for passage, positions in zip(task.passages, left, strict=True)
            for position in positions
        ]
        vectors = embedder.embed(texts)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        units: list[list[Unit]] = []
        start = 0
        for left in survivors:
            units.append([])
            for passage, positions in enumerate(left):
                own = vectors[start : start + len(positions)]
                start += len(positions)
                units[-1] += [Unit(passage, found) for found in self._components(positions, own)]
        return units

    def _components(
        self, positions: list[int], vectors: npt.NDArray[np.float32]
    ) -> list[tuple[int, ...]]:
        return components(
            positions,
            vectors,
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
