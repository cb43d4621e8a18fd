"""RECOMP's extractive compressor: the units whose vectors fit the question's best.

Xu, Shi and Choi 2023 (arXiv 2310.04408): a Contriever trained for this, tokens mean-pooled, scores
by dot product. The paper keeps one sentence (NQ, TriviaQA) or a few (HotpotQA); GRASP's table keeps
the two best documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.baselines.passages import candidates, units_of
from grasp_cli.compression.baselines.similarity import similarities
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import Encoder


class RecompExtractive:
    """Keeps the `top_k_spans` best passages, or sentences."""

    name = "recomp-extractive"

    def __init__(self, encoder: Encoder, options: CompressDefaults) -> None:
        self.encoder = encoder
        self.options = options

    def load(self) -> None:
        """Load the model."""
        self.encoder.embed([""])

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Choose the passages (or sentences) of a window of tasks."""
        units = [units_of(task, self.options.unit) for task in tasks]
        scored = similarities(self.encoder, tasks, units, cosine=False)
        return [
            Selection(candidates(task, own, scores.tolist()), self._kept(scores), judged=True)
            for task, own, scores in zip(tasks, units, scored, strict=True)
        ]

    def _kept(self, scores: npt.NDArray[np.float64]) -> list[int]:
        order = np.argsort(-scores, kind="stable")[: self.options.top_k_spans]
        return sorted(int(number) for number in order)
