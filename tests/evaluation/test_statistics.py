from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from grasp_cli.evaluation import statistics
from grasp_cli.evaluation.statistics import known_intervals, mean_interval, mean_intervals


def sample(count: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).beta(0.5, 0.7, (count, 3)).round(4)


def naive(values: Any, resamples: int, seed: int, level: float) -> list[tuple[float, float]]:
    """One resample after the other, drawn from the same stream of random numbers."""
    random = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        drawn = [values[place] for place in random.integers(len(values), size=len(values))]
        means.append([sum(column) / len(drawn) for column in zip(*drawn, strict=True)])
    ends = [100 * (1 - level) / 2, 100 * (1 + level) / 2]
    return [tuple(np.percentile(column, ends)) for column in zip(*means, strict=True)]


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_equal_to_a_naive_version(monkeypatch: Any, block: int, level: float) -> None:
    monkeypatch.setattr(statistics, "_BLOCK", block)
    values = sample(17)
    found = mean_intervals(values, resamples=200, seed=5, level=level)
    np.testing.assert_allclose(found, naive(values.tolist(), 200, 5, level), rtol=0, atol=1e-12)


def test_close_to_scipy() -> None:
    values = sample(120)[:, 0]
    theirs = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    low, high = mean_interval(values, resamples=20_000)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval), abs=width / 20)


def test_covers_the_true_mean_as_often_as_it_says() -> None:
    """400 samples of 100 values each: 95 % ± 3 points, two standard errors and the bias."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        low, high = mean_interval(random.random(100), resamples=500)
        covered += low <= 0.5 <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_seed_decides() -> None:
    values = sample(40)
    assert (mean_intervals(values) == mean_intervals(values)).all()
    assert (mean_intervals(values, seed=1) != mean_intervals(values)).any()


def test_equal_values_have_no_width_and_none_are_refused() -> None:
    assert mean_interval([0.25] * 9) == (0.25, 0.25)
    with pytest.raises(ValueError, match="n > 0"):
        mean_interval([])


def test_metrics_are_resampled_over_the_questions_that_have_a_value() -> None:
    values = sample(30)
    values[[3, 7], 1] = np.nan
    values[1:, 2] = np.nan
    found = known_intervals(values)
    np.testing.assert_array_equal(found[:1], mean_intervals(values[:, :1]))
    np.testing.assert_array_equal(found[1:2], mean_intervals(np.delete(values[:, 1:2], [3, 7], 0)))
    assert np.isnan(found[2]).all()
    assert np.isnan(known_intervals(np.empty((0, 2)))).all()
