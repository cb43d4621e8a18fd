"""Ranking metrics of one question, 0 to 1, equal to trec_eval's.

A ranking lists documents, each once, best first. Grades say how relevant documents are; above 0
is relevant, and what has no grade is not. A question without any relevant document has 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from grasp_cli.defaults import EVALUATE

Grades = Mapping[str, int]


def ranking_scores(
    ranking: Sequence[str], grades: Grades, cutoffs: Sequence[int] = EVALUATE.cutoffs
) -> dict[str, float]:
    """Every metric by its name, recall and hit rate at each cutoff."""
    return {
        **{f"recall@{k}": recall(ranking, grades, k) for k in cutoffs},
        **{f"hit@{k}": hit(ranking, grades, k) for k in cutoffs},
        "mrr": reciprocal_rank(ranking, grades),
        "ndcg@10": ndcg(ranking, grades, 10),
        "map": average_precision(ranking, grades),
    }


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the relevant documents that is among the first k."""
    wanted = _relevant(grades)
    return _share(len(wanted.intersection(ranking[:k])), len(wanted))


def hit(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """1 where a relevant document is among the first k."""
    return float(not _relevant(grades).isdisjoint(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], grades: Grades) -> float:
    """1 / the rank of the first relevant document."""
    wanted = _relevant(grades)
    return next((1 / rank for rank, name in enumerate(ranking, start=1) if name in wanted), 0.0)


def average_precision(ranking: Sequence[str], grades: Grades) -> float:
    """The mean over the relevant documents of the precision at their ranks, 0 where not found."""
    wanted = _relevant(grades)
    ranks = [rank for rank, name in enumerate(ranking, start=1) if name in wanted]
    return _share(sum(found / rank for found, rank in enumerate(ranks, start=1)), len(wanted))


def ndcg(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002).

    A document at rank r gains its grade / log2(r + 1); the ideal ranking has the highest grades
    first.
    """
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    gains = [max(0, grades.get(name, 0)) for name in ranking[:k]]
    return _share(_discounted(gains), _discounted(ideal[:k]))


def _relevant(grades: Grades) -> set[str]:
    return {name for name, grade in grades.items() if grade > 0}


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
