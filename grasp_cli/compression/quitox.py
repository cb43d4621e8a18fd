"""QUITO-X at sentence level: from a score per token to the sentences that stay.

Scores are smoothed over the document's tokens with a Gaussian; a sentence has the greatest score
of its tokens; of n sentences the best max(k_min, ceil(r n)) stay, in document order (GRASP,
coarse filter; after QUITO-X). What a token's score is depends on the model: see
`token_relevance` for the embedded profile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS

Floats = npt.NDArray[np.float64]


def keep_count(sentences: int, ratio: float, minimum: int) -> int:
    """How many of n sentences stay: max(k_min, ceil(r n)), at most n.

    The product is rounded first: 0.7 * 10 is 7.000000000000001 in binary, which is 7, not 8.
    """
    return min(sentences, max(minimum, math.ceil(round(ratio * sentences, 9))))


def smooth(token_scores: Floats, sigma: float) -> Floats:
    """Gaussian smoothing over one document's tokens (reflected ends, cut at four sigma)."""
    if sigma == 0 or token_scores.size == 0:
        return token_scores
    from scipy.ndimage import gaussian_filter1d

    smoothed: Floats = gaussian_filter1d(token_scores, sigma, mode="reflect", truncate=4.0)
    return smoothed


def sentence_scores(token_scores: Floats, bounds: Sequence[tuple[int, int]]) -> Floats:
    """The greatest score among each sentence's tokens, rounded; 0 for one without tokens.

    Parameters
    ----------
    token_scores
        Smoothed scores of one document's tokens, shape (t,).
    bounds
        [start, end) of each sentence among the tokens, length n.
    """
    best = [token_scores[start:end].max() if end > start else 0.0 for start, end in bounds]
    rounded: Floats = np.asarray(best, dtype=np.float64).round(SCORE_DECIMALS)
    return rounded


def kept(scores: Floats, ratio: float, minimum: int) -> list[int]:
    """Positions of the sentences that stay, ascending; of equal scores the earlier stays."""
    count = keep_count(len(scores), ratio, minimum)
    order = np.argsort(-scores, kind="stable")[:count]
    return sorted(int(position) for position in order)
