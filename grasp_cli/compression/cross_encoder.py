"""A cross-encoder as span classifier: question and unit in one pass (ragcompress's scorer)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.cross_encoder import CrossEncoder
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]


class CrossEncoderClassifier:
    """Scores units by what a cross-encoder makes of question and unit, without their document."""

    name = "cross-encoder"

    def __init__(self, model: CrossEncoder) -> None:
        self.model = model
        self.cut_tokens: list[int] = []  # there is no context to cut

    def load(self) -> None:
        """Load the model."""
        self.model.load()

    def refusal(self, task: Task) -> RecordError | None:
        """Where the question leaves less than half of an input."""
        room, limit = self.model.room(task.question), self.model.max_length
        if 2 * room >= limit:
            return None
        return RecordError(
            f"the question takes {limit - room} of the {limit} tokens that {self.model.name} "
            "reads; shorten it",
            kind="QuestionTooLong",
        )

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """See `SpanClassifier.score`."""
        pairs = [
            (task.question, unit.text(task.passages[unit.passage]))
            for task, members in zip(tasks, units, strict=True)
            for unit in members
        ]
        found = np.round(self.model.scores(pairs), SCORE_DECIMALS)
        ends = np.cumsum([len(members) for members in units])
        return [found[end - len(members) : end] for end, members in zip(ends, units, strict=True)]
