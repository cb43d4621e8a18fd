"""Calibration and operating points against slow, plain versions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.evidence_calibration import (
    FEATURES,
    balanced_point,
    expected_calibration_error,
    fit,
    logistic,
    point_that_drops,
    point_that_keeps,
    record_features,
    reliability,
    slope_through,
)
from grasp_cli.compression.tasks import Unit
from grasp_cli.models.evidence_weights import read_config
from grasp_cli.training.evidence_finish import RECALL_KEEPS, TIGHT_DROPS
from tests.training.synthetic import Trained


def test_features_of_a_record() -> None:
    sentences = [np.asarray([1.0, -2.0]), np.asarray([]), np.asarray([0.5])]
    links = [[[2], []], [], [[0, 1]]]
    units = [Unit(0, (0, 1)), Unit(0, (1,)), Unit(2, (0,))]
    found = record_features(units, np.asarray([3.0, -2.0, 0.5]), sentences, links)

    def chance(x: float) -> float:
        return float(1 / (1 + np.exp(-x)))

    def rank(logit: float) -> float:
        """How many sentences are better, softly: the unit's own counts half."""
        return float(np.log1p(sum(chance(other - logit) for other in (1.0, -2.0, 0.5))))

    lesser = chance(0.5) * float(np.exp(-2.0 - 1.0))  # than the best sentence of its passage
    # logit, best of record, log rank, named by, named by times logit, names
    np.testing.assert_allclose(
        found,
        [
            [3.0, 1.0, rank(3.0), chance(0.5), 3.0 * chance(0.5), chance(0.5)],
            [-2.0, 1.0, rank(-2.0), lesser, -2.0 * lesser, 0.0],
            [0.5, 1.0, rank(0.5), chance(1.0), 0.5 * chance(1.0), chance(1.0)],
        ],
    )
    assert found.shape[1] == len(FEATURES)


def test_no_units_have_no_features() -> None:
    assert record_features([], np.asarray([]), [np.asarray([])], [[]]).shape == (0, len(FEATURES))
    assert record_features([], np.asarray([]), [], []).shape == (0, len(FEATURES))


def test_the_logistic_curve_does_not_overflow() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = logistic(np.asarray([-1e4, -30.0, 0.0, 2.0, 1e4, np.inf]))
    assert found.tolist()[::4] == [0.0, 1.0] and found[2] == 0.5 and found[5] == 1.0
    assert found[3] == pytest.approx(1 / (1 + np.exp(-2)), rel=1e-12)


def descended(given: np.ndarray, gold: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same loss by plain gradient descent; the last column of `given` is ones."""
    found, ridge = np.zeros(given.shape[1]), np.full(given.shape[1], 1e-3 * weights.sum())
    ridge[-1] = 0
    step = 1 / (0.25 * np.linalg.norm(given * np.sqrt(weights)[:, None], 2) ** 2 + ridge.max())
    for _ in range(20_000):
        slope = given.T @ (weights * (1 / (1 + np.exp(-given @ found)) - gold)) + ridge * found
        found = found - step * slope
    assert np.abs(slope).max() < 1e-6
    return np.asarray(found)


@pytest.mark.parametrize("separable", [False, True])
def test_the_fit_equals_plain_gradient_descent(separable: bool) -> None:
    rng = np.random.default_rng(5)
    features = rng.normal(size=(120, 3)) * [1.0, 0.5, 2.0] + [0.0, 1.0, 0.0]
    chance = features @ [1.5, -1.0, 0.3] - 0.7
    noise = 0.0 if separable else rng.logistic(size=120)
    gold = (chance + noise > 0).astype(float)
    weights = rng.uniform(0.5, 3, size=120)
    slopes, bias = fit(features, gold, weights)
    given = np.hstack([features, np.ones((120, 1))])
    np.testing.assert_allclose([*slopes, bias], descended(given, gold, weights), atol=1e-5)


logits = st.lists(
    st.tuples(st.integers(-6, 6).map(lambda x: x / 2), st.booleans()), min_size=2, max_size=40
).filter(lambda rows: {gold for _, gold in rows} == {True, False})


def split(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    values, gold = zip(*rows, strict=True)
    return np.asarray(values), np.asarray(gold)


def shares(values: np.ndarray, gold: np.ndarray, cut: float) -> tuple[float, float]:
    """Of gold the share that is kept at `cut`, of the others the share that is dropped."""
    kept = sum(value >= cut for value in values[gold]) / sum(gold)
    dropped = sum(value < cut for value in values[~gold]) / sum(~gold)
    return float(kept), float(dropped)


@given(logits)
def test_no_cut_is_more_balanced(rows: list[tuple[float, bool]]) -> None:
    values, gold = split(rows)

    def lean(cut: float) -> float:
        kept, dropped = shares(values, gold, cut)
        return abs(kept - dropped)

    found = lean(balanced_point(values, gold))
    assert found == pytest.approx(min(lean(cut) for cut in values), abs=1e-12)


@given(logits, st.sampled_from([0.5, 0.75, 0.9, 0.95, 0.97, 1.0]))
def test_points_keep_and_drop_so_much_and_none_is_better(
    rows: list[tuple[float, bool]], share: float
) -> None:
    values, gold = split(rows)
    keeping = [cut for cut in values if shares(values, gold, cut)[0] >= share - 1e-9]
    assert point_that_keeps(values, gold, share) == max(keeping)
    dropping = [cut for cut in values if shares(values, gold, cut)[1] >= share - 1e-9]
    assert point_that_drops(values, gold, share) == min(dropping, default=np.inf)


@given(
    st.tuples(st.floats(0, 5), st.floats(-5, 5)),
    st.lists(st.tuples(st.floats(0, 5), st.floats(-5, 5)), max_size=6),
)
def test_no_line_through_the_anchor_is_nearer(
    anchor: tuple[float, float], points: list[tuple[float, float]]
) -> None:
    def distance(slope: float) -> float:
        return sum((anchor[1] + slope * (x - anchor[0]) - y) ** 2 for x, y in points)

    found = slope_through(anchor, points)
    assert all(
        distance(found) <= distance(found + step) + 1e-6 for step in (-0.1, 0.1, -1e-3, 1e-3)
    )


def test_without_points_there_is_no_slope() -> None:
    assert slope_through((3.0, -2.0), []) == 0 == slope_through((3.0, -2.0), [(3.0, 1.0)])


def test_reliability_and_its_error() -> None:
    chances = np.asarray([0.9, 0.1, 0.8, 0.3, 0.2, 0.7])
    gold = np.asarray([True, False, False, True, False, True])
    rows = reliability(chances, gold, bins=3)
    np.testing.assert_allclose(rows, [[0.15, 0, 2], [0.5, 1, 2], [0.85, 0.5, 2]])
    of_each = [abs(c - g) for c, g in sorted(zip(chances, gold, strict=True))]  # bins of one
    assert len(reliability(chances, gold)) == 6
    assert expected_calibration_error(chances, gold) == pytest.approx(np.mean(of_each))


def test_presets_of_a_trained_model_are_in_order(evidence: Trained) -> None:
    presets = read_config(evidence.directory).presets
    assert list(presets) == ["recall", "balanced", "tight"]
    assert presets["recall"] <= presets["balanced"] == 0.5 <= presets["tight"]
    kept, dropped = zip(*evidence.done.points.values(), strict=True)
    assert kept == tuple(sorted(kept, reverse=True)) and dropped == tuple(sorted(dropped))
    assert kept[0] >= RECALL_KEEPS and dropped[2] >= TIGHT_DROPS
