from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.compression.baselines.oracle import Oracle
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import compress_settings
from grasp_cli.evaluation.evidence import (
    NOTHING_KEPT,
    Recall,
    all_contexts,
    evidence_scores,
    precision,
    recall,
)
from grasp_cli.evaluation.retained import retained
from grasp_cli.pipe.errors import DataError
from tests.compression.fakes import Words

PASSAGES = [
    {"id": "d#0", "doc_id": "d", "start": 0, "end": 20, "text": "x" * 20},
    {"id": "d#1", "doc_id": "d", "start": 15, "end": 40, "text": "x" * 25},
    {"id": "e", "text": "x" * 30},
]


def record(*evidence: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    entries = [{"context": name, "start": start, "end": end} for name, start, end in evidence]
    return {"id": "1", "question": "?", "contexts": PASSAGES, "evidence": entries, **more}


@pytest.mark.parametrize(
    ("evidence", "gold", "expected"),
    [
        ([("d#1", 5, 15)], [{"id": "d", "start": 20, "end": 30}], Recall(1, 1, 1, 1)),
        ([("d#1", 10, 15)], [{"id": "d", "start": 20, "end": 30}], Recall(0.5, 1, 1)),
        ([("d#1", 0, 5)], [{"id": "d", "start": 20, "end": 30}], Recall(0, 1, 1)),
        # two passages overlap in 15..20: counted once
        (
            [("d#0", 10, 20), ("d#1", 0, 5)],
            [{"id": "d", "start": 10, "end": 20}],
            Recall(1, 1, 1, 1),
        ),
        ([("e", 0, 1)], [{"id": "e"}, {"id": "d"}], Recall(1, 2, 2, 1)),
        ([("e", 0, 30)], [{"id": "gone"}, {"id": "e", "start": 0, "end": 30}], Recall(1, 1, 2, 1)),
        ([("d#1", 20, 25)], [{"id": "d", "start": 35, "end": 45}], Recall(0.5, 0.5, 1)),
        ([], [{"id": "d"}], Recall(0, 1, 1)),
    ],
)
def test_by_hand(evidence: list[Any], gold: list[Any], expected: Recall) -> None:
    assert recall(record(*evidence), gold) == expected


def test_without_compression_all_contexts_are_kept() -> None:
    gold = [{"id": "d", "start": 35, "end": 45}, {"id": "gone"}]
    assert recall(all_contexts(record()), gold) == Recall(0.5, 0.5, 2)
    assert Recall(0.5, 0.5, 2).scores() == {
        "evidence_recall": 0.25,
        "evidence_recall_present": 1,
        "citation": 1,
        "all_gold": 0,
    }


def test_nothing_to_recall() -> None:
    assert recall(record(), []) is None
    assert Recall(0, 0, 1).scores() == {"evidence_recall": 0, "citation": 0, "all_gold": 0}


def test_a_failed_record_kept_nothing() -> None:
    assert recall(all_contexts(record()), [{"id": "d"}], failed=True) == Recall(0, 1, 1)


SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda span: (span[0], sum(span))),
    max_size=6,
)


@settings(deadline=None)
@given(kept=SPANS, gold=SPANS.filter(bool), shift=st.integers(0, 50))
def test_characters_one_by_one(
    kept: list[tuple[int, int]], gold: list[tuple[int, int]], shift: int
) -> None:
    context = {"id": "p", "doc_id": "d", "start": shift, "text": "x" * 40}
    entries = [{"context": "p", "start": start, "end": end} for start, end in kept]
    pieces = [{"id": "d", "start": start + shift, "end": end + shift} for start, end in gold]
    found = recall({"id": "1", "contexts": [context], "evidence": entries}, pieces)
    characters = {place for start, end in kept for place in range(start, end)}
    shares = [len(characters & set(range(start, end))) / (end - start) for start, end in gold]
    assert found is not None
    assert found.kept == pytest.approx(sum(shares))
    assert found.present == pytest.approx(len(gold))


@pytest.mark.parametrize(
    ("evidence", "gold", "message"),
    [
        ([{"context": "d#9", "start": 0, "end": 1}], [{"id": "d"}], 'record "1": "evidence"'),
        (["text"], [{"id": "d"}], 'record "1": "evidence"'),
        ([], ["d"], '"evidence_gold" must be a list'),
        ([], [{"start": 1}], '"evidence_gold" must be a list'),
        ([], [{"id": "d", "start": 4, "end": 4}], '"evidence_gold" must be a list'),
    ],
)
def test_another_shape_is_refused(evidence: list[Any], gold: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        recall({**record(), "evidence": evidence}, gold)


TEXT = "Ann won. Bob lost. Cy left. Di stayed."
SENTENCES = [(0, 8), (9, 18), (19, 27), (28, 38)]
FIRST, SECOND, THIRD, FOURTH = SENTENCES


def kept(*spans: tuple[int, int], gold: list[tuple[int, int]], **more: Any) -> dict[str, Any]:
    """A record of one passage, from character 100 of document d on."""
    entries = [
        {"context": "p", "start": start, "end": end, "sentence": SENTENCES.index((start, end))}
        if (start, end) in SENTENCES
        else {"context": "p", "start": start, "end": end}
        for start, end in spans
    ]
    return {
        "id": "1",
        "question": "?",
        "contexts": [{"id": "p", "doc_id": "d", "start": 100, "text": TEXT}],
        "evidence": entries,
        "evidence_gold": [{"id": "d", "start": 100 + s, "end": 100 + e} for s, e in gold],
        **more,
    }


def table(record: dict[str, Any]) -> tuple[float, ...]:
    scores = evidence_scores(record)
    names = ("evidence_recall", "evidence_precision", "evidence_f1", "citation", "all_gold")
    return tuple(round(scores[name], 4) for name in names)


@pytest.mark.parametrize(
    ("spans", "gold", "expected"),
    [
        ([FIRST], [FIRST], (1, 1, 1, 1, 1)),
        ([FIRST, THIRD], [FIRST], (1, 0.5, 0.6667, 1, 1)),
        ([FIRST, THIRD], [FIRST, SECOND], (0.5, 0.5, 0.5, 1, 0)),
        ([SECOND, FOURTH], [FIRST], (0, 0, 0, 0, 0)),
        ([], [FIRST], (0, 0, 0, 0, 0)),
        ([(0, 27)], [SECOND], (1, 0.3333, 0.5, 1, 1)),  # a run of three sentences
        ([FIRST, SECOND], [(0, 18)], (1, 1, 1, 1, 1)),  # one piece of gold over two sentences
        ([FIRST, THIRD], [(0, 27)], (0.5926, 1, 0.7442, 1, 0)),  # its middle is missing
        ([(0, 38)], [(0, 38)], (1, 1, 1, 1, 1)),
    ],
)
def test_sentences_by_hand(spans: Any, gold: Any, expected: tuple[float, ...]) -> None:
    assert table(kept(*spans, gold=gold)) == expected


def test_words_of_one_sentence_are_one_kept_sentence() -> None:
    words = kept(gold=[FIRST])
    words["evidence"] = [
        {"context": "p", "start": 0, "end": 3, "sentence": 0},
        {"context": "p", "start": 4, "end": 7, "sentence": 0},
        {"context": "p", "start": 9, "end": 12, "sentence": 1},
    ]
    assert precision(words, words["evidence_gold"]) == 0.5


def test_a_gold_document_makes_all_its_sentences_gold() -> None:
    record = kept(FIRST, THIRD, gold=[], evidence_gold=[{"id": "d"}, {"id": "gone"}])
    assert table(record) == (0.5, 1, 0.6667, 1, 0)


def test_a_context_made_of_parts_of_documents() -> None:
    source = [
        {"doc_id": "d", "start": 100, "end": 108},
        {"doc_id": "e", "start": 7, "end": 16},
    ]
    tree = kept(gold=[FIRST])
    tree["contexts"] = [{"id": "p", "source": source, "text": "Ann won.\n\nBob lost."}]
    tree["evidence"] = [
        {"context": "p", "start": 0, "end": 8, "sentence": 0},
        {"context": "p", "start": 10, "end": 19, "sentence": 1},
    ]
    assert table(tree) == (1, 0.5, 0.6667, 1, 1)
    tree["evidence_gold"] = [{"id": "e", "start": 7, "end": 16}, {"id": "d"}]
    assert table(tree) == (1, 1, 1, 1, 1)
    tree["evidence_gold"] = [{"id": "e", "start": 16, "end": 20}]
    assert table(tree) == (0, 0, 0, 0, 0)


def test_the_oracle_is_perfect() -> None:
    """Its kept sentences, through the stage that writes records, are all gold and all of it."""
    options = compress_settings("oracle")
    setting = Setting("embedded", "float32", "rule")
    stage = Compress(Oracle(), None, Words(), options, setting)  # type: ignore[arg-type]
    for gold in ([FIRST], [SECOND, FOURTH], SENTENCES):
        record = {key: value for key, value in kept(gold=gold).items() if key != "evidence"}
        (found,) = stage.process([record])
        assert isinstance(found, dict)
        assert table(found) == (1, 1, 1, 1, 1)
        assert retained(found) == {"verbatim": 1}


def test_without_evidence_every_sentence_is_kept() -> None:
    record = all_contexts(kept(gold=[SECOND]))
    assert table(record) == (1, 0.25, 0.4, 1, 1)


def test_what_a_model_wrote_has_no_evidence_metrics() -> None:
    record = kept(gold=[FIRST], compression={"verbatim": False})
    assert evidence_scores(record) == {}
    failed = evidence_scores(record, failed=True)
    assert failed.pop("evidence_recall_present") == 0
    assert failed == NOTHING_KEPT


@settings(deadline=None)
@given(
    spans=st.sets(st.sampled_from(SENTENCES)).map(sorted),
    gold=st.sets(st.sampled_from(SENTENCES), min_size=1).map(sorted),
)
def test_sets_of_sentences(spans: list[tuple[int, int]], gold: list[tuple[int, int]]) -> None:
    both = len(set(spans) & set(gold))
    recalled, precise = both / len(gold), both / len(spans) if spans else 0.0
    f1 = 2 * recalled * precise / (recalled + precise) if both else 0.0
    expected = (recalled, precise, f1, both > 0, set(gold) <= set(spans))
    assert table(kept(*spans, gold=gold)) == tuple(round(float(v), 4) for v in expected)
