"""A ranking: positions of passages, best first, ties in the order of their ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS

Positions = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Order = npt.NDArray[np.uint32]  # of each passage, the place of its id among all ids


@dataclass(frozen=True)
class Ranking:
    """What one retriever finds for one question; both arrays have one entry per passage."""

    positions: Positions
    scores: Scores  # rounded, never increasing

    def __len__(self) -> int:
        return len(self.positions)


NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))
RESOLUTION = 10.0**-SCORE_DECIMALS


def ranked(positions: Positions, scores: npt.ArrayLike, order: Order, depth: int) -> Ranking:
    """The `depth` best: scores are rounded first, then compared, ties by id."""
    rounded: Scores = np.asarray(scores, np.float64).round(SCORE_DECIMALS)
    best = np.lexsort((order[positions], -rounded))[:depth]
    return Ranking(positions[best], rounded[best])
