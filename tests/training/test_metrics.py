"""Ranking quality against all pairs, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.training.metrics import auc, best_share, quality

rows = st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.integers(0, 5)), min_size=1, max_size=30)


def naive_auc(gold: list[int], others: list[int]) -> float:
    points = [1.0 if g > o else 0.5 if g == o else 0.0 for g in gold for o in others]
    return sum(points) / len(points)


@given(st.lists(rows, max_size=4))
def test_quality_is_the_mean_over_questions_that_have_both(
    questions: list[list[tuple[int, int]]],
) -> None:
    found = quality(
        (np.asarray([label for label, _ in rows]), np.asarray([float(s) for _, s in rows]))
        for rows in questions
    )
    expected = []
    for question in questions:
        gold, others = ([s for label, s in question if label == wanted] for wanted in (1, 0))
        if gold and others:
            expected.append(naive_auc(gold, others))
    assert found.questions == len(expected)
    assert found.auc == (pytest.approx(np.mean(expected), abs=6e-5) if expected else 0)


def test_auc_counts_ties_one_half() -> None:
    gold = np.asarray([True, False, True, False])
    assert auc(gold, np.asarray([1.0, 1.0, 3.0, 2.0])) == (0.5 + 0 + 1 + 1) / 4


@pytest.mark.parametrize(
    ("share", "expected"), [(0.2, 1 / 3), (0.3, 2 / 3), (0.21, 2 / 3), (1.0, 1.0)]
)
def test_recall_of_the_best_share_rounds_up(share: float, expected: float) -> None:
    """Two of ten, three, three, and all; ties go to the earlier."""
    scores = np.asarray([9.0, 5.0, 8.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    gold = np.isin(np.arange(10), [0, 3, 9])
    assert best_share(gold, scores, share) == pytest.approx(expected)
