from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression import quitox


@given(st.integers(0, 60), st.integers(0, 100), st.integers(0, 5))
def test_keep_count_is_the_exact_ceiling(sentences: int, percent: int, minimum: int) -> None:
    exact = math.ceil(Fraction(percent, 100) * sentences)
    expected = min(sentences, max(minimum, exact))
    assert quitox.keep_count(sentences, percent / 100, minimum) == expected


def naive_smoothing(values: list[float], sigma: float) -> list[float]:
    """Weights of a Gaussian over 4 sigma; beyond an end the row is mirrored (d c b a | a b c d)."""
    reach = int(4 * sigma + 0.5)
    weights = [math.exp(-0.5 * (step / sigma) ** 2) for step in range(-reach, reach + 1)]
    count = len(values)

    def at(index: int) -> float:
        index %= 2 * count
        return values[index] if index < count else values[2 * count - 1 - index]

    return [
        sum(w * at(i + step) for w, step in zip(weights, range(-reach, reach + 1), strict=True))
        / sum(weights)
        for i in range(count)
    ]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.sampled_from([0.5, 1.0, 2.0, 3.3]))
def test_smoothing_equals_the_naive_definition(values: list[float], sigma: float) -> None:
    found = quitox.smooth(np.asarray(values), sigma)
    np.testing.assert_allclose(found, naive_smoothing(values, sigma), atol=1e-9)


def test_sigma_zero_does_not_smooth() -> None:
    assert quitox.smooth(np.asarray([1.0, 0.0]), 0).tolist() == [1.0, 0.0]


def test_a_sentence_has_the_greatest_of_its_tokens() -> None:
    values = np.asarray([0.1, 0.9, 0.3, -0.2, 0.12345678])
    scores = quitox.sentence_scores(values, [(0, 2), (2, 4), (4, 4), (4, 5)])
    assert scores.tolist() == [0.9, 0.3, 0.0, 0.1235]


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), max_size=12), st.floats(0, 1), st.integers(0, 4))
def test_kept_equals_the_naive_sort(scores: list[float], ratio: float, minimum: int) -> None:
    count = quitox.keep_count(len(scores), ratio, minimum)
    naive = sorted(sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count])
    assert quitox.kept(np.asarray(scores), ratio, minimum) == naive


@pytest.mark.parametrize(("sentences", "kept"), [(1, 1), (2, 1), (3, 2)])
def test_half_of_one_sentence_is_that_sentence(sentences: int, kept: int) -> None:
    assert quitox.keep_count(sentences, 0.5, 1) == kept
