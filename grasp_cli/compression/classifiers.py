"""Span classifiers: how useful an evidence unit is for answering the question, from 0 to 1.

Another classifier needs the same three methods and a line in `methods._classifier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.encoder import Encoder
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]

# Fitted on the training questions of HotpotQA (tests/compression/test_classifiers.py repeats it):
# the slope is that of a logistic regression of gold sentences on the cosine; the midpoint is the
# cosine at which as large a share of gold units is kept as of the others is dropped.
SLOPE = 7.7
MIDPOINT = 0.416


class SpanClassifier(Protocol):
    """Scores evidence units of a window of tasks."""

    name: str
    cut_tokens: list[int]  # per task of the last call: tokens cut from inputs that were too long

    def load(self) -> None:
        """Load the model."""
        ...

    def refusal(self, task: Task) -> RecordError | None:
        """Why the model cannot be asked this question, if it cannot."""
        ...

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """Rounded r(u) = P(useful | question, passage, unit) of each task's units."""
        ...


class CosineClassifier:
    """The cosine of question and unit, through a fixed logistic curve.

    It has not been trained to judge evidence; it is the floor that a trained one must beat.
    """

    name = "cosine"

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.cut_tokens: list[int] = []  # texts of any length are read whole

    def load(self) -> None:
        """Load the model."""
        self.encoder.embed([""])

    def refusal(self, task: Task) -> RecordError | None:
        """None: it reads questions of any length."""
        return None

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """See `SpanClassifier.score`."""
        texts = [
            [unit.text(task.passages[unit.passage]) for unit in members]
            for task, members in zip(tasks, units, strict=True)
        ]
        questions = self.encoder.embed([task.question for task in tasks])
        vectors = self.encoder.embed([text for members in texts for text in members])
        results, start = [], 0
        for question, members in zip(questions, texts, strict=True):
            own = _unit_length(vectors[start : start + len(members)])
            start += len(members)
            cosine = own @ _unit_length(question)
            results.append(np.round(1 / (1 + np.exp(-SLOPE * (cosine - MIDPOINT))), SCORE_DECIMALS))
        return results


def _unit_length(vectors: npt.NDArray[np.float32]) -> Floats:
    """Vectors of length one: not every encoder normalises its own."""
    exact = vectors.astype(np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=-1, keepdims=True), 1e-12))
