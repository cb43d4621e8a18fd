from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test

from grasp_cli.evaluation import significance
from grasp_cli.evaluation.significance import holm, mcnemar, permutation_tests
from grasp_cli.evaluation.significance import permutation_test as ours


def sample(count: int, shift: float, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(shift, 1, count).round(4)


def naive(values: list[float]) -> float:
    """All signs, one after the other."""
    observed = abs(sum(values))
    sums = [
        sum(sign * value for sign, value in zip(signs, values, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    return sum(abs(found) >= observed - 1e-9 for found in sums) / len(sums)


@pytest.mark.parametrize("values", [[1.0], [0.5, -0.5], [0.3, 0.2, -0.1, 0.4], [0.0, 1.0, 1.0]])
def test_few_differences_are_tested_exactly(values: list[float]) -> None:
    assert ours(values) == pytest.approx(naive(values), abs=1e-12)


def test_exact_as_scipy_has_it() -> None:
    values = sample(12, 0.4)
    theirs = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=10_000, alternative="two-sided"
    )
    assert ours(values) == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.15, 0.4])
def test_drawn_close_to_scipy(shift: float) -> None:
    values = sample(150, shift)
    theirs = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    ).pvalue
    error = 4 * (theirs * (1 - theirs) / 10_000) ** 0.5 + 2e-4
    assert ours(values) == pytest.approx(theirs, abs=error)
    assert ours(values) == ours(values)
    assert 0 < ours(values) <= 1


@pytest.mark.parametrize("block", [1, 300, 1 << 20])
def test_blocks_columns_and_gaps_change_nothing_of_note(monkeypatch: Any, block: int) -> None:
    monkeypatch.setattr(significance, "_BLOCK", block)
    values = np.stack([sample(40, 0.3), sample(40, 0, 2), np.r_[1.0, 1.0, 1.0, [0] * 37]], axis=1)
    values[5, 1] = np.nan
    found = permutation_tests(values, permutations=2000)
    assert found[0] == pytest.approx(ours(values[:, 0]), abs=0.03)
    assert found[1] == pytest.approx(ours(np.delete(values[:, 1], 5)), abs=0.05)
    assert found[2] == 0.25  # two of eight signs
    assert (permutation_tests(np.zeros((4, 2))) == 1).all()


def test_p_is_uniform_where_there_is_no_difference() -> None:
    """Of 400 tests without a difference, 5 % ± 3 points are below 0.05."""
    random = np.random.default_rng(7)
    values = random.normal(size=(60, 400)) * random.random((60, 1))
    assert abs((permutation_tests(values, permutations=2000) < 0.05).mean() - 0.05) < 0.03


@pytest.mark.parametrize(
    ("gained", "lost"),
    [(0, 0), (1, 0), (5, 5), (3, 12), (12, 3), (40, 61), (700, 620), (9000, 9200)],
)
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    total = gained + lost
    expected = binomtest(gained, total).pvalue if total else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_is_the_permutation_test_of_right_and_wrong() -> None:
    assert mcnemar(9, 2) == pytest.approx(ours([1.0] * 9 + [-1.0] * 2), abs=1e-12)


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.5, 0.6]) == [1.0, 1.0, 1.0]


def naive_holm(values: list[float]) -> list[float]:
    """Adjusted p: the smallest level at which the step-down procedure rejects."""
    count = len(values)
    return [
        min(1.0, max((count - sorted(values).index(q)) * q for q in values if q <= p))
        for p in values
    ]


def test_holm_is_the_step_down_procedure() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        values = random.random(6).round(3).tolist()
        assert holm(values) == pytest.approx(naive_holm(values))
