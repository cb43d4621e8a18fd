"""Whether two systems differ by more than chance, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log2

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import EVALUATE

Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 20  # signs drawn at once
_SLACK = 1e-9  # sums of equal size may differ by rounding


def permutation_tests(
    differences: npt.ArrayLike,
    *,
    permutations: int = EVALUATE.resamples,
    seed: int = EVALUATE.seed,
) -> Floats:
    """Two-sided p values of paired `differences`, shape (n, m): n questions, m metrics; gives (m,).

    Under the null hypothesis a difference is as likely to have the other sign (Fisher 1935). Of
    all signs where they are no more than `permutations`, the share whose sum is as far from 0 as
    the one observed; else that share of signs drawn with `seed`, those observed counted as one of
    them (Phipson and Smyth 2010). NaN is a question without a value and changes nothing.
    """
    matrix = np.nan_to_num(np.asarray(differences, np.float64), nan=0.0)
    if matrix.ndim != 2:
        raise ValueError(f"differences of shape (n, m) are needed, not {matrix.shape}")
    found = np.ones(matrix.shape[1])
    differ = np.count_nonzero(matrix, axis=0)
    few = differ <= log2(permutations)
    for column in np.flatnonzero(few & (differ > 0)):
        own = matrix[:, column]
        found[column] = _exact(own[own != 0])
    if not few.all():
        random = np.random.default_rng(seed)
        found[~few] = _drawn(matrix[:, ~few], permutations, random)
    return found


def permutation_test(differences: npt.ArrayLike, *, seed: int = EVALUATE.seed) -> float:
    """The p value of one metric's paired `differences`, shape (n,)."""
    return float(permutation_tests(np.asarray(differences, np.float64)[:, None], seed=seed)[0])


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p value (McNemar 1947) of so many questions `gained` and `lost`.

    Questions that are right, or wrong, in both systems say nothing. Twice the smaller tail of
    Binomial(gained + lost, 1/2), at most 1.
    """
    total = gained + lost
    tail, ways = 0, 1  # ways to choose k of them
    for k in range(min(gained, lost) + 1):
        tail += ways
        ways = ways * (total - k) // (k + 1)
    return float(min(Fraction(1), Fraction(2 * tail, 2**total)))


def holm(values: Sequence[float]) -> list[float]:
    """p values adjusted for having made that many comparisons (Holm 1979), in the given order."""
    adjusted = [0.0] * len(values)
    greatest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        greatest = max(greatest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = greatest
    return adjusted


def _exact(values: Floats) -> float:
    """Over all signs of the values."""
    signs = (np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1) * 2.0 - 1
    return float(np.mean(_as_far(signs @ values, values[:, None])))


def _drawn(matrix: Floats, permutations: int, random: np.random.Generator) -> Floats:
    """Over signs that are drawn, the same ones for all columns."""
    count = len(matrix)
    total = matrix.sum(axis=0)
    as_far = np.ones(matrix.shape[1])  # the signs as observed
    step = max(1, _BLOCK // count)
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        bits = np.unpackbits(
            np.frombuffer(random.bytes(-(-rows * count // 8)), np.uint8), count=rows * count
        )
        positive = bits.reshape(rows, count).astype(np.float64) @ matrix
        as_far += _as_far(2 * positive - total, matrix).sum(axis=0)
    return as_far / (permutations + 1)


def _as_far(sums: Floats, matrix: Floats) -> npt.NDArray[np.bool_]:
    """Which sums, shape (…, m) or (…,), are as far from 0 as those of `matrix`, shape (n, m)."""
    observed = np.abs(matrix.sum(axis=0))
    slack = _SLACK * np.abs(matrix).sum(axis=0)
    far: npt.NDArray[np.bool_] = np.abs(sums) >= observed - slack
    return far
