"""LangChain's EmbeddingsFilter: what lies near the question, by cosine of its embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from grasp_cli.compression.baselines.passages import candidates, units_of
from grasp_cli.compression.baselines.similarity import similarities
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import Encoder


class EmbeddingsFilter:
    """Keeps units whose cosine reaches the threshold, at most `top_k_spans` (LangChain's k)."""

    name = "embeddings-filter"

    def __init__(self, encoder: Encoder, options: CompressDefaults, borderline: float) -> None:
        self.encoder = encoder
        self.options = options
        self.borderline = borderline  # scores this near the threshold are counted

    def load(self) -> None:
        """Load the model."""
        self.encoder.embed([""])

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Judge the passages (or sentences) of a window of tasks."""
        units = [units_of(task, self.options.unit) for task in tasks]
        scored = similarities(self.encoder, tasks, units, cosine=True)
        threshold = self.options.fine_threshold
        return [
            Selection(
                candidates(task, own, scores.tolist()),
                np.flatnonzero(scores >= threshold).tolist(),
                judged=True,
                borderline=int(np.sum(np.abs(scores - threshold) <= self.borderline + 1e-9)),
            )
            for task, own, scores in zip(tasks, units, scored, strict=True)
        ]
