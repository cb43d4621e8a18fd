"""Evidence of contexts whose sentences are not adjacent in the document."""

from __future__ import annotations

from typing import Any

import pytest

from grasp_cli.compression.baselines.oracle import Oracle
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Passage, Task, runs
from grasp_cli.defaults import CompressDefaults
from grasp_cli.evaluation.evidence import recall
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import document_spans
from grasp_cli.report.explained import explained
from grasp_cli.training.evidence_examples import example
from tests.compression.fakes import Words

TEXT = "The bridge is old. It was built in 1911. Ice came. Ada Quell built it. She left."
PARTS = [(0, 18), (41, 70)]
CONTEXT = {
    "id": "d@5",
    "doc_id": "d",
    "source": [{"doc_id": "d", "start": start, "end": end} for start, end in PARTS],
    "text": "\n\n".join(TEXT[start:end] for start, end in PARTS),
}
GOLD = [{"id": "d", "start": 0, "end": 18}, {"id": "d", "start": 51, "end": 70}]
RECORD: dict[str, Any] = {
    "id": "q",
    "question": "Who built the bridge?",
    "contexts": [CONTEXT],
    "evidence_gold": GOLD,
}


def compressed() -> Any:
    stage = Compress(
        Oracle(),
        None,
        Words(),
        CompressDefaults(method="oracle"),
        Setting("embedded", "float32", "rule"),
    )
    (record,) = stage.process([RECORD])
    return record


def test_evidence_says_where_in_the_document_it_stands() -> None:
    record = compressed()
    assert record["context"] == "The bridge is old. Ada Quell built it."
    for entry in record["evidence"]:
        assert entry["text"] == CONTEXT["text"][entry["start"] : entry["end"]]
        ((document, start, end),) = document_spans(CONTEXT, entry["start"], entry["end"])
        assert entry["source"] == [{"doc_id": document, "start": start, "end": end}]
        assert TEXT[start:end] == entry["text"]
    assert [entry["sentence"] for entry in record["evidence"]] == [0, 2]


def test_evaluation_counts_it_there() -> None:
    record = compressed()
    found = recall(record, GOLD)
    assert found is not None and (found.kept, found.present, found.total) == (2.0, 2.0, 2)
    beyond = recall(record, [{"id": "d", "start": 19, "end": 40}])
    assert beyond is not None and beyond.kept == beyond.present == 0.0


def test_gold_is_marked_where_it_is() -> None:
    (document,) = explained({**RECORD, "evidence": compressed()["evidence"]}).documents
    assert [document.text[p.start : p.end] for p in document.pieces if p.gold] == [
        "The bridge is old.",
        "Ada Quell built it.",
    ]


def test_training_takes_the_sentences_that_gold_touches() -> None:
    made = example({**RECORD, "answers": []}, "file", "rule")
    assert [labels.tolist() for labels in made.labels] == [[1, 0, 1]]
    elsewhere = [{"id": "d", "start": 19, "end": 40}]
    with pytest.raises(DataError, match="is in none of its contexts"):
        example({**RECORD, "evidence_gold": elsewhere}, "file", "rule")


def test_sentences_side_by_side_in_the_context_but_not_in_the_document_are_two_runs() -> None:
    (passage,) = Task.of(RECORD, "rule").passages
    assert [len(passage.sentences), passage.breaks] == [3, (20,)]
    found = runs(passage, 0, [0, 1, 2], None)
    assert [(run.start, run.end, run.sentence) for run in found] == [(0, 18, 0), (20, 49, 1)]
    assert len(runs(Passage(0, "", passage.text, passage.sentences), 0, [0, 1, 2], None)) == 1
