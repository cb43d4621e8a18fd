"""Evidence units among retrieved text against definitions written out."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.evaluation.statistics import product_interval
from grasp_cli.evaluation.units import UnitEvaluation, unit_scores, units
from grasp_cli.pipe.errors import DataError

TEXT = "One is here. Two is there. Three is far. Four is near. Five is last."
SENTENCES = [(0, 12), (13, 26), (27, 40), (41, 54), (55, 68)]


def passage(first: int, last: int, document: str = "d") -> dict[str, Any]:
    start, end = SENTENCES[first][0], SENTENCES[last - 1][1]
    return {
        "id": f"{document}#{first}",
        "doc_id": document,
        "start": start,
        "text": TEXT[start:end],
    }


def node(*runs: tuple[int, int]) -> dict[str, Any]:
    spans = [(SENTENCES[first][0], SENTENCES[last - 1][1]) for first, last in runs]
    source = [{"doc_id": "d", "start": start, "end": end} for start, end in spans]
    return {"id": "d@9", "doc_id": "d", "text": "\n\n".join(TEXT[a:b] for a, b in spans),
            "source": source}  # fmt: skip


def gold(*sentences: int, document: str = "d") -> list[dict[str, Any]]:
    return [{"id": document, "start": SENTENCES[s][0], "end": SENTENCES[s][1]} for s in sentences]


def shown(*contexts: dict[str, Any]) -> list[str]:
    return [TEXT[unit.start : unit.end] for unit in units(contexts, 2)]


def test_contexts_become_chunks_in_their_order_and_each_once() -> None:
    assert shown(passage(0, 5)) == [TEXT[0:26], TEXT[27:54], TEXT[55:68]]
    assert shown(passage(2, 4), passage(0, 5)) == [TEXT[27:54], TEXT[0:26], TEXT[55:68]]
    assert shown(node((0, 2), (4, 5))) == [TEXT[0:26], TEXT[55:68]]
    assert shown(passage(1, 2)) == [TEXT[13:26]]
    assert shown({"id": "d", "text": TEXT}) == [TEXT[0:26], TEXT[27:54], TEXT[55:68]]
    assert shown({"id": "d", "text": ""}) == []


def test_scores_by_hand() -> None:
    contexts = [passage(2, 4), passage(0, 2), passage(4, 5)]
    found = unit_scores(contexts, gold(0, 1, 4), (1, 2, 5))
    assert [found[f"unit_recall@{k}"] for k in (1, 2, 5)] == [0, 2 / 3, 1]
    assert [found[f"unit_precision@{k}"] for k in (1, 2, 5)] == [0, 1 / 2, 2 / 5]
    assert [found[f"ie@{k}"] for k in (1, 2, 5)] == pytest.approx([0, 1 / 3, 2 / 5])
    assert found["unit_f1@5"] == pytest.approx(2 * 0.4 / 1.4)


def test_gold_of_another_document_and_whole_documents() -> None:
    assert unit_scores([passage(0, 2, "e")], gold(0))["unit_recall@1"] == 0
    found = unit_scores([passage(0, 2, "e"), passage(0, 2)], [{"id": "d"}, {"id": "x"}])
    assert (found["unit_recall@1"], found["unit_recall@3"]) == (0, 0.5)
    assert found["unit_precision@3"] == pytest.approx(1 / 3)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=6),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(1, 7),
)
def test_equal_a_naive_count_over_sentences(
    places: list[tuple[int, int]], wanted: set[int], k: int
) -> None:
    chunks: list[tuple[int, ...]] = []
    contexts = []
    for first, size in places:
        last = min(5, first + size)
        contexts.append(passage(first, last))
        for begin in range(first, last, 2):
            one = tuple(range(begin, min(begin + 2, last)))
            if one not in chunks:
                chunks.append(one)
    best = chunks[:k]
    recall = len({s for s in wanted if any(s in one for one in best)}) / len(wanted)
    precision = len([one for one in best if set(one) & wanted]) / k
    found = unit_scores(contexts, gold(*sorted(wanted)), (k,))
    assert found[f"unit_recall@{k}"] == pytest.approx(recall)
    assert found[f"unit_precision@{k}"] == pytest.approx(precision)
    assert found[f"ie@{k}"] == pytest.approx(recall * precision)


def record(key: str, *contexts: dict[str, Any], wanted: Any = None) -> dict[str, Any]:
    return {"id": key, "contexts": list(contexts), "evidence_gold": wanted or gold(0)}


def test_means_of_products_and_products_of_means() -> None:
    one = UnitEvaluation("x", cutoffs=(1,))
    scored = one.add(record("a", passage(0, 2)))
    one.add(record("b", passage(2, 4), wanted=gold(2, 4)))
    one.add(record("c", passage(2, 4)))
    one.add({**record("d"), "error": {"stage": "retrieve"}})
    one.finish()
    row = one.row()
    assert scored["scores"] == {
        "unit_recall@1": 1, "unit_precision@1": 1, "unit_f1@1": 1, "ie@1": 1,
    }  # fmt: skip
    assert (row["n"], row["failed"], row["missing"]) == (4, 1, 0)
    assert row["unit_recall@1"] == 0.375 and row["unit_precision@1"] == 0.5
    assert row["ie@1"] == 0.375
    assert row["ie_of_means@1"] == 0.1875
    assert row["ie_of_means@1_low"] <= 0.1875 <= row["ie_of_means@1_high"]


def test_expected_questions_count_and_give_their_gold() -> None:
    one = UnitEvaluation("x", gold={"a": gold(0), "b": gold(1), "c": []}, cutoffs=(1,))
    bare = {"id": "a", "contexts": [passage(0, 2)]}
    assert one.add(bare)["scores"]["unit_recall@1"] == 1
    assert "scores" not in one.add({"id": "z", "contexts": []})
    one.finish()
    row = one.row()
    assert (row["n"], row["missing"], row["ie@1"]) == (2, 1, 0.5)
    assert sum(one.notes.values()) == 1


def test_bad_gold_names_the_record() -> None:
    with pytest.raises(DataError, match='"q7"'):
        UnitEvaluation("x").add({"id": "q7", "contexts": [], "evidence_gold": ["d"]})


def test_nothing_judged_has_no_values() -> None:
    one = UnitEvaluation("x")
    one.add({"id": "a", "contexts": []})
    one.finish()
    assert one.row()["ie@1"] is None and one.notes


def test_the_interval_of_a_product_is_that_of_plain_resampling() -> None:
    rng = random.Random(0)
    one = [rng.random() for _ in range(40)]
    other = [rng.random() * value for value in one]
    products = []
    for _ in range(4000):
        drawn = [rng.randrange(40) for _ in range(40)]
        products.append(
            statistics.mean(one[i] for i in drawn) * statistics.mean(other[i] for i in drawn)
        )
    cuts = statistics.quantiles(products, n=40)
    low, high = product_interval(one, other)
    assert low == pytest.approx(cuts[0], abs=0.01) and high == pytest.approx(cuts[-1], abs=0.01)
