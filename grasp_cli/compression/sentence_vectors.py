"""Sentence vectors for the evidence graph from a sentence encoder, as published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Task
from grasp_cli.models.encoder import Encoder


class EncoderVectors:
    """Each sentence embedded by itself."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def load(self) -> None:
        """Load the model."""
        self.encoder.embed([""])

    def vectors(
        self, tasks: Sequence[Task], survivors: Sequence[list[list[int]]]
    ) -> list[list[npt.NDArray[np.float32]]]:
        """See `grasp.SentenceVectors`; all sentences of the window share batches."""
        texts = [
            passage.sentence(position)
            for task, left in zip(tasks, survivors, strict=True)
            for passage, positions in zip(task.passages, left, strict=True)
            for position in positions
        ]
        flat = self.encoder.embed(texts)
        found: list[list[npt.NDArray[np.float32]]] = []
        start = 0
        for left in survivors:
            found.append([])
            for positions in left:
                found[-1].append(flat[start : start + len(positions)])
                start += len(positions)
        return found
