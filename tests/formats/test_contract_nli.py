from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.formats import load_format
from grasp_cli.pipe.errors import DataError
from tests.conftest import shared
from tests.formats.helpers import convert

TEXT = "1. Secrets \U0001f92b\nKeep them. \nBurn after reading."
SPANS = [[0, 12], [13, 24], [24, 44], [12, 13], [25, 45]]


def dataset(**annotations: Any) -> dict[str, Any]:
    contract = {
        "id": 3,
        "file_name": "a.txt",
        "text": TEXT,
        "spans": SPANS,
        "annotation_sets": [{"annotations": annotations}],
    }
    labels = {name: {"hypothesis": f"{name} holds."} for name in ("nda-1", "nda-2", "nda-3")}
    return {"documents": [contract], "labels": labels}


def mark(choice: str, *spans: int) -> dict[str, Any]:
    return {"choice": choice, "spans": list(spans)}


def test_labels_become_answers_and_spans_evidence(tmp_path: Path) -> None:
    records, form = convert(
        "contract-nli",
        tmp_path,
        dataset(
            **{
                "nda-2": mark("Contradiction", 3, 2),
                "nda-1": mark("Entailment", 1, 0, 1),
                "nda-3": mark("NotMentioned"),
            }
        ),
    )
    assert [record["id"] for record in records] == ["3/nda-1", "3/nda-2", "3/nda-3"]
    assert records[0] == {
        "id": "3/nda-1",
        "question": "According to the contract, is this true: nda-1 holds?",
        "answers": ["yes"],
        "label": "Entailment",
        "evidence_gold": [
            {"id": "3", "start": 13, "end": 23, "text": "Keep them."},
            {"id": "3", "start": 0, "end": 12, "text": "1. Secrets \U0001f92b"},
        ],
        "contexts": [{"id": "3", "text": TEXT, "file_name": "a.txt"}],
        "hypothesis": "nda-1",
    }
    assert records[1]["evidence_gold"][0]["text"] == "Burn after reading."
    assert [(r["answers"], len(r["evidence_gold"])) for r in records[1:]] == [(["no"], 1), ([], 0)]
    assert list((+form.notes).items()) == [("spans of evidence are blank: left out", 1)]


def test_a_contract_without_annotations_gives_questions_alone(tmp_path: Path) -> None:
    records, _ = convert("contract-nli", tmp_path, dataset())
    assert len(records) == 3
    assert not any("answers" in record or "evidence_gold" in record for record in records)
    some, _ = convert("contract-nli", tmp_path, dataset(**{"nda-2": mark("NotMentioned")}))
    assert [record["id"] for record in some] == ["3/nda-2"]


def test_the_real_file_span_by_span() -> None:
    path = shared("data/contract_nli/contract_nli_dev.json")
    form = load_format("contract-nli")
    records = {record["id"]: record for record in form.records(path)}
    data = json.loads(path.read_text())
    assert len(records) == 61 * 17
    for contract in data["documents"]:
        (annotated,) = contract["annotation_sets"]
        for name, annotation in annotated["annotations"].items():
            record = records[f"{contract['id']}/{name}"]
            spans = [contract["spans"][number] for number in annotation["spans"]]
            gold = record["evidence_gold"]
            assert [piece["text"] for piece in gold] == [
                text
                for text in (contract["text"][start:end].strip() for start, end in spans)
                if text
            ]
            assert all(contract["text"][g["start"] : g["end"]] == g["text"] for g in gold)
            assert data["labels"][name]["hypothesis"].rstrip(".") in record["question"]
    choices = [record["answers"] for record in records.values()]
    assert [choices.count(answer) for answer in (["yes"], ["no"], [])] == [519, 95, 423]
    assert list((+form.notes).values()) == [1]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (mark("Perhaps"), '"choice" must be one of Entailment, Contradiction, NotMentioned'),
        (mark("Entailment", 4), "4 must be the number of one of the contract's spans"),
        (mark("Entailment", 5), "5 must be the number"),
        (mark("Entailment", -1), "-1 must be the number"),
        ("yes", r'documents\[0\].*"nda-1" must be there as an object'),
    ],
)
def test_what_does_not_fit(tmp_path: Path, annotation: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert("contract-nli", tmp_path, dataset(**{"nda-1": annotation}))
