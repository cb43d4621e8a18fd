"""Over the real datasets: every gold span slices exactly, ids are unique and mean one text."""

from __future__ import annotations

import pytest

from grasp_cli.formats import load_format
from grasp_cli.formats.base import documents_of
from grasp_cli.pipe.records import to_record
from tests.conftest import shared

FILES = [
    ("hotpotqa", "hotpotqa/train.json", 396, {}),
    ("hotpotqa", "hotpotqa/dev.json", 100, {}),
    ("hotpotqa", "hotpotqa/dev_fullwiki.json", 237, {"not among the contexts": 216}),
    ("hotpotqa", "2wikimultihopqa/dev.json", 100, {"left out": 4}),
    ("musique", "musique/train.json", 100, {}),
    ("musique", "musique/dev.json", 100, {}),
    ("dpr", "natural_questions/dev_top3.jsonl", 400, {}),
    ("dpr", "natural_questions/train_gold_passage.jsonl.gz", 2054, {}),
    ("dpr", "triviaqa/dev_top3.jsonl", 480, {}),
    ("squad", "squad/train.json", 4961, {}),
    ("squad", "xquad/xquad.de.json", 1190, {}),
    ("squad", "xquad/xquad.zh.json", 1190, {}),
    ("qasper", "qasper/papers.jsonl", 105, {"more than once": 4}),
    ("contract-nli", "contract_nli/contract_nli_dev.json", 1037, {"are blank": 1}),
    ("beir", "nq_beir_derived", 2655, {}),
    ("beir", "scifact_subset", 300, {}),
]


@pytest.mark.parametrize(("name", "path", "count", "remarks"), FILES)
def test_real_file(name: str, path: str, count: int, remarks: dict[str, int]) -> None:
    form = load_format(name)
    records = list(form.records(shared(f"data/{path}")))
    assert len({record["id"] for record in records}) == len(records) == count
    texts: dict[str, str] = {}
    for record in records:
        to_record(record, "here", 1)  # the contract, unique context ids included
        for context in record.get("contexts", []):
            assert texts.setdefault(context["id"], context["text"]) == context["text"]
        _check_gold(record)
    notes = +form.notes
    assert len(notes) == len(remarks)
    for part, number in remarks.items():
        assert [notes[note] for note in notes if part in note] == [number]


def _check_gold(record: dict) -> None:  # type: ignore[type-arg]
    texts = {context["id"]: context["text"] for context in record.get("contexts", [])}
    assert (record.get("evidence_gold") != []) or record["answers"] == []
    for piece in record.get("evidence_gold", []):
        if "start" in piece:
            found = texts[piece["id"]][piece["start"] : piece["end"]]
            assert found == piece["text"] == found.strip() != ""


def test_sentences_of_both_kinds_of_hotpotqa() -> None:
    for path, joint in (("hotpotqa/dev.json", ""), ("2wikimultihopqa/dev.json", " ")):
        import json

        file = shared(f"data/{path}")
        records = {record["id"]: record for record in load_format("hotpotqa").records(file)}
        for item in json.loads(file.read_text()):
            texts = {c["title"]: c["text"] for c in records[item["_id"]]["contexts"]}
            gold = [piece["text"] for piece in records[item["_id"]]["evidence_gold"]]
            sentences = dict(item["context"])
            assert texts == {title: joint.join(parts) for title, parts in sentences.items()}
            facts = dict.fromkeys((title, number) for title, number in item["supporting_facts"])
            assert gold == [sentences[title][number].strip() for title, number in facts]


@pytest.mark.parametrize(
    ("path", "passages"), [("hotpotqa/dev.json", 992), ("2wikimultihopqa/dev.json", 826)]
)
def test_documents_are_distinct(path: str, passages: int) -> None:
    documents = list(documents_of(load_format("hotpotqa").records(shared(f"data/{path}"))))
    assert len({document["id"] for document in documents}) == len(documents) == passages
