"""Reciprocal rank fusion against the formula written out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.retrieval.fusion import reciprocal_ranks, weighted_scores

RANKINGS = st.lists(st.lists(st.integers(0, 12), max_size=12), max_size=4)


def naive(rankings: list[list[int]], kappa: float) -> dict[int, float]:
    """For each item: go through the lists, find its place, add."""
    scores = {}
    for item in {item for ranking in rankings for item in ranking}:
        score = 0.0
        for ranking in rankings:
            seen: list[int] = []
            for other in ranking:
                if other not in seen:
                    seen.append(other)
            if item in seen:
                score += 1.0 / (kappa + seen.index(item) + 1)
        scores[item] = round(score, 4)
    return scores


@given(RANKINGS, st.sampled_from([0, 1, 10, 60]))
def test_equals_the_formula(rankings: list[list[int]], kappa: float) -> None:
    assert reciprocal_ranks(rankings, kappa) == naive(rankings, kappa)


def test_numbers_by_hand() -> None:
    fused = reciprocal_ranks([[7, 8], [8]], kappa=10)
    assert fused == {7: round(1 / 11, 4), 8: round(1 / 12 + 1 / 11, 4)}


def test_a_duplicate_within_a_list_counts_once() -> None:
    assert reciprocal_ranks([[3, 3, 3]], kappa=10) == {3: round(1 / 11, 4)}


def test_absent_adds_nothing() -> None:
    assert reciprocal_ranks([[1], []], kappa=10) == reciprocal_ranks([[1]], kappa=10)


SCORES = st.dictionaries(st.integers(0, 12), st.floats(-5, 5).map(lambda x: round(x, 3)))


def naive_weighted(
    dense: dict[int, float], sparse: dict[int, float], weight: float
) -> dict[int, float]:
    def normal(scores: dict[int, float], item: int) -> float:
        if item not in scores:
            return 0.0
        span = max(scores.values()) - min(scores.values())
        return (scores[item] - min(scores.values())) / span if span else 1.0

    return {
        item: round(weight * normal(dense, item) + (1 - weight) * normal(sparse, item), 4)
        for item in {*dense, *sparse}
    }


@given(SCORES, SCORES, st.sampled_from([0, 0.25, 0.5, 1]))
def test_weighted_equals_the_formula(
    dense: dict[int, float], sparse: dict[int, float], weight: float
) -> None:
    assert weighted_scores(dense, sparse, weight) == naive_weighted(dense, sparse, weight)


def test_weighted_by_hand() -> None:
    fused = weighted_scores({1: 0.9, 2: 0.5, 3: 0.1}, {2: 8.0, 4: 4.0}, 0.25)
    assert fused == {1: 0.25, 2: 0.875, 3: 0.0, 4: 0.0}
