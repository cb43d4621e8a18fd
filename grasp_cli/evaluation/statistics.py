"""How far a mean may be off: bootstrap intervals (Efron 1979), by percentile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import EVALUATE

Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 17  # entries drawn at once: memory does not grow with questions or resamples


def mean_intervals(
    values: npt.ArrayLike,
    *,
    level: float = EVALUATE.level,
    resamples: int = EVALUATE.resamples,
    seed: int = EVALUATE.seed,
) -> Floats:
    """Intervals of the means of `values`, shape (n, m): n questions, m metrics; gives (m, 2).

    Each resample draws n questions with replacement, the same ones for all metrics; the interval
    runs between the quantiles (1 ± level) / 2 of its means. The same seed gives the same
    interval. Raises `ValueError` where there is no question.
    """
    matrix = np.asarray(values, np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise ValueError(f"values of shape (n, m) with n > 0 are needed, not {matrix.shape}")
    means = _resampled_means(matrix, resamples, np.random.default_rng(seed))
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return np.stack([low, high], axis=1)


def product_interval(
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    level: float = EVALUATE.level,
    resamples: int = EVALUATE.resamples,
    seed: int = EVALUATE.seed,
) -> tuple[float, float]:
    """The interval of the product of two metrics' means, each of shape (n,), n > 0."""
    matrix = np.column_stack([np.asarray(one, np.float64), np.asarray(other, np.float64)])
    means = _resampled_means(matrix, resamples, np.random.default_rng(seed)).prod(axis=1)
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def known_intervals(values: npt.ArrayLike) -> Floats:
    """As `mean_intervals`, each metric over the questions where it has a value (is not NaN).

    A metric with fewer than two values has no interval: NaN.
    """
    matrix = np.asarray(values, np.float64)
    found = np.full((matrix.shape[1], 2), np.nan)
    for there, columns in _by_presence(np.isfinite(matrix)):
        if there.sum() > 1:
            found[columns] = mean_intervals(matrix[there][:, columns])
    return found


def mean_interval(
    values: npt.ArrayLike,
    *,
    level: float = EVALUATE.level,
    resamples: int = EVALUATE.resamples,
    seed: int = EVALUATE.seed,
) -> tuple[float, float]:
    """The interval of the mean of one metric's `values`, shape (n,).

    Of two systems, give the differences question by question: where the interval leaves out 0,
    the difference is more than chance.
    """
    column = np.asarray(values, np.float64)[:, None]
    [(low, high)] = mean_intervals(column, level=level, resamples=resamples, seed=seed)
    return float(low), float(high)


def _resampled_means(matrix: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """Means of each resample, shape (resamples, m).

    How often a question is drawn is its weight, so that one matrix product gives all means.
    """
    count = len(matrix)
    means = np.empty((resamples, matrix.shape[1]))
    step = max(1, _BLOCK // count)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(count, size=(rows, count))
        drawn += np.arange(rows)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        means[start : start + rows] = weights @ matrix / count
    return means


def _by_presence(there: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.bool_], list[int]]]:
    """Columns by which questions they know, so that one drawing serves all of a kind."""
    kinds: dict[bytes, list[int]] = {}
    for column in range(there.shape[1]):
        kinds.setdefault(there[:, column].tobytes(), []).append(column)
    return [(there[:, columns[0]], columns) for columns in kinds.values()]
