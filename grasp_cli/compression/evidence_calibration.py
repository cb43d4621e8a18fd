"""From the logits of a record's sentences to calibrated probabilities.

A logistic regression (Platt 1999) of gold on what the whole record says about a unit: its own
logit, the best one of the record, its rank there, and the links between passages by titles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Unit
from grasp_cli.compression.title_links import features as link_features

Floats = npt.NDArray[np.float64]
FEATURES = (
    "logit",
    "best of record",
    "log rank in record",
    "named by",
    "named by, times logit",
    "names",
)
_RIDGE = 1e-3
_STEPS = 50
_SLACK = 1e-9  # of rounding in a share


def record_features(
    units: Sequence[Unit],
    logits: Floats,
    sentences: Sequence[Floats],
    named: Sequence[Sequence[Sequence[int]]],
) -> Floats:
    """Features of units, shape (units, 6).

    Parameters
    ----------
    units, logits
        Units of one record and the logit of each.
    sentences
        Logits of every sentence, per passage.
    named
        Which passages each sentence names: `title_links.links`.
    """
    best = [float(own.max()) if len(own) else -np.inf for own in sentences]
    outward, inward = link_features(named, [logistic(own) for own in sentences])
    record = max(best, default=0.0)
    every = np.concatenate([np.zeros(0), *sentences])
    rows = []
    for unit, logit in zip(units, logits.tolist(), strict=True):
        # a passage that is named matters by its best sentences, not by all of them
        link = inward[unit.passage] * np.exp(min(0.0, logit - best[unit.passage]))
        rank = np.log1p(logistic(every - logit).sum())
        names = max((outward[unit.passage][s] for s in unit.sentences), default=0.0)
        rows.append((logit, record, rank, link, link * logit, names))
    return np.asarray(rows, np.float64).reshape(-1, len(FEATURES))


def logistic(values: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), np.float64)


def fit(features: Floats, gold: Floats, weights: Floats) -> tuple[Floats, float]:
    """Weights and bias of a logistic regression, by Newton's method with a small ridge."""
    given = np.hstack([features, np.ones((len(features), 1))])
    found = np.zeros(given.shape[1])
    ridge = np.full(given.shape[1], _RIDGE * weights.sum())
    ridge[-1] = 0
    for _ in range(_STEPS):
        chance = logistic(given @ found)
        slope = given.T @ (weights * (chance - gold)) + ridge * found
        curve = (given * (weights * chance * (1 - chance))[:, None]).T @ given + np.diag(ridge)
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
        found = found - step
        if np.abs(step).max() < 1e-8:
            break
    return found[:-1], float(found[-1])


def balanced_point(logits: Floats, gold: npt.NDArray[np.bool_]) -> float:
    """The logit at which as large a share of gold is kept as of the others is dropped."""
    order = np.sort(np.unique(logits))
    kept = 1 - np.searchsorted(np.sort(logits[gold]), order) / max(1, gold.sum())
    dropped = np.searchsorted(np.sort(logits[~gold]), order) / max(1, (~gold).sum())
    place = int(np.argmin(np.abs(kept - dropped)))
    low = order[max(0, place - 1)]
    return float((order[place] + low) / 2)


def point_that_keeps(logits: Floats, gold: npt.NDArray[np.bool_], share: float) -> float:
    """The highest logit at which at least `share` of gold is kept."""
    values, wanted = np.unique(logits), np.sort(logits[gold])
    kept = len(wanted) - np.searchsorted(wanted, values)
    return float(values[kept >= share * len(wanted) - _SLACK][-1])


def point_that_drops(logits: Floats, gold: npt.NDArray[np.bool_], share: float) -> float:
    """The lowest logit at which at least `share` of the others is dropped.

    Infinite where even the highest does not drop so many.
    """
    values, others = np.unique(logits), np.sort(logits[~gold])
    dropped = np.searchsorted(others, values)
    return float([*values[dropped >= share * len(others) - _SLACK], np.inf][0])


def slope_through(anchor: tuple[float, float], points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through `anchor` that is nearest to the points, 0 for no points."""
    x, y = np.asarray([(x - anchor[0], y - anchor[1]) for x, y in points]).reshape(-1, 2).T
    return float(x @ y / (x @ x)) if x.any() else 0.0


def reliability(chances: Floats, gold: npt.NDArray[np.bool_], bins: int = 10) -> list[Floats]:
    """Per bin of equal counts: mean probability, share of gold, count."""
    order = np.argsort(chances, kind="stable")
    return [
        np.asarray([chances[part].mean(), gold[part].mean(), len(part)])
        for part in np.array_split(order, bins)
        if len(part)
    ]


def expected_calibration_error(chances: Floats, gold: npt.NDArray[np.bool_]) -> float:
    """Mean distance of probability and frequency over the bins of `reliability`."""
    rows = np.asarray(reliability(chances, gold))
    return float((np.abs(rows[:, 0] - rows[:, 1]) * rows[:, 2]).sum() / rows[:, 2].sum())
