"""How well scores rank the gold sentences of a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SHARES = (0.2, 0.3)


class Quality(NamedTuple):
    """Means over questions that have gold and other sentences."""

    auc: float
    recall_20: float  # of gold among the best fifth of all sentences
    recall_30: float
    questions: int


def quality(pairs: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> Quality:
    """Of labels (1 gold, 0 other, -1 unknown: left out) and scores, one pair per question."""
    rows = []
    for labels, scores in pairs:
        known = labels >= 0
        gold, values = labels[known] == 1, scores[known]
        if 0 < gold.sum() < len(gold):
            rows.append((auc(gold, values), *(best_share(gold, values, s) for s in SHARES)))
    if not rows:
        return Quality(0.0, 0.0, 0.0, 0)
    means = np.asarray(rows).mean(axis=0)
    found, fifth, third = (round(float(value), 4) for value in means)
    return Quality(found, fifth, third, len(rows))


def auc(gold: npt.NDArray[Any], scores: npt.NDArray[Any]) -> float:
    """The share of (gold, other) pairs in the right order; ties count one half."""
    difference = scores[gold][:, None] - scores[~gold][None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def best_share(gold: npt.NDArray[Any], scores: npt.NDArray[Any], share: float) -> float:
    """Recall of gold with the best `share` of the sentences, ⌈share · n⌉ of them."""
    best = np.argsort(-scores, kind="stable")[: int(np.ceil(share * len(scores)))]
    return float(gold[best].sum() / gold.sum())
