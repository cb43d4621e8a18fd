"""Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.defaults import SCORE_DECIMALS


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
