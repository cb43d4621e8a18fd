"""Two rankings into one.

Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. Weighted: the convex combination
of min-max normalised scores, Bruch, Gai and Ingber, TOIS 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.defaults import SCORE_DECIMALS

FUSIONS = ("rrf", "weighted")


def reciprocal_ranks(rankings: Iterable[Sequence[int]], kappa: float) -> dict[int, float]:
    """The fused score of everything that stands in any of `rankings`.

    score = sum over rankings of 1 / (kappa + rank), ranks from 1. What is absent from a ranking
    gets nothing from it; what stands in it twice counts once, where it stands first. Rounded.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (kappa + rank)
    return {item: round(score, SCORE_DECIMALS) for item, score in scores.items()}


def weighted_scores(
    dense: dict[int, float], sparse: dict[int, float], weight: float
) -> dict[int, float]:
    """weight · dense + (1 - weight) · sparse of everything that stands in either.

    Each list's scores are first brought to 0 … 1 by its own least and largest (all 1 where they
    are equal); what is absent from a list gets 0 from it. Rounded.
    """
    scores: dict[int, float] = {}
    for found, share in ((dense, weight), (sparse, 1 - weight)):
        for item, score in _normalised(found).items():
            scores[item] = scores.get(item, 0.0) + share * score
    return {item: round(score, SCORE_DECIMALS) for item, score in scores.items()}


def _normalised(scores: dict[int, float]) -> dict[int, float]:
    if not scores:
        return {}
    least, largest = min(scores.values()), max(scores.values())
    if largest == least:
        return dict.fromkeys(scores, 1.0)
    return {item: (score - least) / (largest - least) for item, score in scores.items()}
