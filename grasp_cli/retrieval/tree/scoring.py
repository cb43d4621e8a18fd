"""Cosines of questions and nodes, rounded, the same whatever is computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS

SCALE = 10**SCORE_DECIMALS
_MARGIN = 0.01  # of a unit in the last decimal; sums in float32 differ by far less
_EXACT = 8192  # products computed again at once


def rounded_cosines(questions: npt.NDArray[np.float32], nodes: Any) -> npt.NDArray[np.int32]:
    """Dot products in units of the last decimal, shape (questions, nodes).

    A product in float32 depends in its last bits on what else is computed with it. Those so near
    to the middle between two decimals that it could matter are computed again, in float64.

    Parameters
    ----------
    questions : shape (q, d), of length one
    nodes : shape (n, d), of length one, float32 or float16
    """
    raw = questions @ np.asarray(nodes, np.float32).T
    raw *= SCALE
    whole = np.rint(raw)
    np.subtract(raw, whole, out=raw)
    np.abs(raw, out=raw)
    unsure = np.flatnonzero(raw.ravel() > 0.5 - _MARGIN)
    for start in range(0, len(unsure), _EXACT):
        some = unsure[start : start + _EXACT]
        question, node = np.divmod(some, len(nodes))
        left, right = questions[question].astype(np.float64), nodes[node].astype(np.float64)
        whole.ravel()[some] = np.rint((left * right).sum(axis=1) * SCALE)
    return np.asarray(whole, np.int32)
