"""Reciprocal rank fusion against the formula written out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.retrieval.fusion import reciprocal_ranks

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
