from __future__ import annotations

import io
from typing import Any

import ir_measures
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.formats.trec_run import TrecRun

PASSAGES = st.lists(
    st.tuples(
        st.sampled_from([f"d{n}" for n in range(8)]),
        st.one_of(st.just(0.1), st.floats(-30, 30), st.integers(0, 3)),
    ),
    max_size=12,
)


def record(identity: str, *contexts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": identity, "question": "?", "contexts": list(contexts), **more}


def context(identity: str, score: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": identity, "text": "x", **({} if score is None else {"score": score}), **more}


def test_lines() -> None:
    run = TrecRun("mine")
    records = [
        record("q1", context("b", 0.5), context("a#1", 0.5, doc_id="a"), context("c", 0.25)),
        record("q 2", context("Net Museum", 7), context("x", 3)),
        record("q3", context("b"), context("a", 5), context("c", "high")),
        record("q4", context("b", 1.0), error={"stage": "retrieve"}),
        record("q5"),
    ]
    assert list(run.lines(records)) == [
        "q1 Q0 b 1 0.5 mine",
        "q1 Q0 a 2 0.49999997 mine",
        "q1 Q0 c 3 0.25 mine",
        "q%202 Q0 Net%20Museum 1 7.0 mine",
        "q%202 Q0 x 2 3.0 mine",
        "q3 Q0 b 1 1.0 mine",
        "q3 Q0 a 2 0.5 mine",
        "q3 Q0 c 3 0.33333334 mine",
    ]
    assert sorted((+run.notes).values()) == [1, 1, 2]


@given(PASSAGES)
def test_trec_eval_sees_the_order_of_the_record(passages: list[tuple[str, Any]]) -> None:
    """By score as a 32-bit float, ties by id: the worst order if any score were equal."""
    contexts = [
        context(f"{document}#{place}", score, doc_id=document)
        for place, (document, score) in enumerate(passages)
    ]
    text = "\n".join(TrecRun("t").lines([record("q", *contexts)]))
    found = list(ir_measures.read_trec_run(io.StringIO(text)))
    ordered = sorted(found, key=lambda entry: (np.float32(entry.score), entry.doc_id), reverse=True)
    assert [entry.doc_id for entry in ordered] == list(dict.fromkeys(name for name, _ in passages))
