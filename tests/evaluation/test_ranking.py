"""Ranking metrics against a naive version, and against ir-measures (pytrec_eval)."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.evaluation.ranking import ranking_scores

DOCUMENTS = [f"d{number}" for number in range(30)]
CUTOFFS = (1, 5, 20)
NAMES = {"recall": "R", "hit": "Success", "mrr": "RR", "ndcg": "nDCG", "map": "AP"}
rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=30)
judged = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1)
runs = st.dictionaries(st.sampled_from("abcdef"), rankings, max_size=6)
qrels = st.dictionaries(st.sampled_from("abcdefg"), judged, min_size=1, max_size=7)


def naive(ranking: list[str], grades: dict[str, int]) -> dict[str, float]:
    """The textbook's sums, document by document."""
    relevant = [d for d in grades if grades[d] > 0]
    found = [1 if d in relevant else 0 for d in ranking]
    scores: dict[str, float] = {}
    for k in CUTOFFS:
        scores[f"recall@{k}"] = sum(found[:k]) / len(relevant) if relevant else 0
        scores[f"hit@{k}"] = 1 if sum(found[:k]) else 0
    scores["mrr"] = 1 / (found.index(1) + 1) if 1 in found else 0
    precision = [sum(found[: i + 1]) / (i + 1) for i in range(len(found)) if found[i]]
    scores["map"] = sum(precision) / len(relevant) if relevant else 0
    best = sorted([grades[d] for d in relevant], reverse=True)
    gained = [grades[d] if d in relevant else 0 for d in ranking]
    ideal = sum(best[i] / math.log2(i + 2) for i in range(min(10, len(best))))
    dcg = sum(gained[i] / math.log2(i + 2) for i in range(min(10, len(gained))))
    scores["ndcg@10"] = dcg / ideal if ideal else 0
    return scores


@given(rankings, judged)
def test_equal_to_a_naive_version(ranking: list[str], grades: dict[str, int]) -> None:
    found = ranking_scores(ranking, grades, CUTOFFS)
    assert found == pytest.approx(naive(ranking, grades), abs=1e-12)
    assert all(0 <= value <= 1 + 1e-12 for value in found.values())


@given(runs, qrels)
def test_equal_to_ir_measures(run: dict[str, list[str]], grades: dict[str, dict[str, int]]) -> None:
    """Of every judged question, those without results included."""
    entries = [
        ir_measures.Qrel(query, document, grade)
        for query in grades
        for document, grade in grades[query].items()
    ]
    retrieved = [
        ir_measures.ScoredDoc(query, document, float(-rank))
        for query in run
        for rank, document in enumerate(run[query])
    ]
    measures = {
        key: ir_measures.parse_measure(f"{NAMES[name]}{mark}{cutoff}")
        for key in ranking_scores([], {}, CUTOFFS)
        for name, mark, cutoff in [key.partition("@")]
    }
    expected = {
        (metric.query_id, str(metric.measure)): metric.value
        for metric in ir_measures.iter_calc(list(measures.values()), entries, retrieved)
    }
    for query, own in grades.items():
        found = ranking_scores(run.get(query, []), own, CUTOFFS)
        for key, measure in measures.items():
            assert found[key] == pytest.approx(expected[query, str(measure)], abs=1e-9)


def test_by_hand() -> None:
    found = ranking_scores(["x", "b", "a", "c"], {"a": 1, "b": 3, "z": 1, "c": 0}, (2,))
    assert found == {
        "recall@2": pytest.approx(1 / 3),
        "hit@2": 1,
        "mrr": 0.5,
        "ndcg@10": pytest.approx((3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3) + 1 / 2)),
        "map": pytest.approx((1 / 2 + 2 / 3) / 3),
    }


def test_nothing_relevant_and_nothing_retrieved_are_0() -> None:
    assert set(ranking_scores(["a"], {"a": 0}).values()) == {0.0}
    assert set(ranking_scores([], {"a": 1}).values()) == {0.0}
