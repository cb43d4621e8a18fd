from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from grasp_cli.formats import Sources, load_joined_format
from grasp_cli.formats.qrels import read_qrels
from grasp_cli.formats.qrels_writer import Qrels
from grasp_cli.formats.trec_run import TrecRun, read_run
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import to_record

RUN = """q2 Q0 Net%20Museum 1 3.5 mine
q1 Q0 b 2 0.5 mine
q1 Q0 a 1 0.5 mine
q1 Q0 c 3 7 mine

q9 Q0 a 1 1.0 mine
"""
QUESTIONS = "q1\tNets?\nq2\tMills?\nq3\tDams?\n"
CORPUS = [
    {"_id": "a", "title": "A", "text": "All.", "url": "x"},
    {"_id": "Net Museum", "text": "Nets."},
    {"_id": "c", "text": "Cats."},
    {"_id": "unwanted", "text": "No."},
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "questions.tsv").write_text(QUESTIONS)
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)))
    return tmp_path


def contexts(name: str, folder: Path, **sources: Path) -> tuple[list[dict[str, Any]], Any]:
    form = load_joined_format(name, Sources(questions=folder / "questions.tsv", **sources))
    return list(form.records([folder / "run.txt"])), +form.notes


def test_a_run_with_its_documents(files: Path) -> None:
    records, notes = contexts("trec-run", files, corpus=files / "corpus.jsonl")
    assert records == [
        {
            "id": "q1",
            "question": "Nets?",
            "contexts": [
                {"id": "c", "text": "Cats.", "score": 7.0, "rank": 1},
                {"id": "a", "title": "A", "text": "All.", "url": "x", "score": 0.5, "rank": 2},
                {"id": "b", "text": "", "score": 0.5, "rank": 3},
            ],
        },
        {
            "id": "q2",
            "question": "Mills?",
            "contexts": [{"id": "Net Museum", "text": "Nets.", "score": 3.5, "rank": 1}],
        },
        {"id": "q3", "question": "Dams?", "contexts": []},
    ]
    for record in records:
        to_record(record, "here", 1)
    assert sorted(notes.values()) == [1, 1, 1]
    assert [word in " ".join(notes) for word in ("not in the run", "not among the questions")] == [
        True,
        True,
    ]


def test_a_run_by_itself_still_ranks(files: Path) -> None:
    records, notes = contexts("trec-run", files)
    ids = [[context["id"] for context in record["contexts"]] for record in records]
    assert ids == [["c", "a", "b"], ["Net%20Museum"], []]
    assert {context["text"] for record in records for context in record["contexts"]} == {""}
    assert any("name the documents with --corpus" in note for note in notes)


def test_what_was_written_is_read_back(files: Path) -> None:
    records, _ = contexts("trec-run", files, corpus=files / "corpus.jsonl")
    (files / "run.txt").write_text("\n".join(TrecRun("again").lines(records)))
    again, _ = contexts("trec-run", files, corpus=files / "corpus.jsonl")
    for record, other in zip(records, again, strict=True):
        assert [c["id"] for c in record["contexts"]] == [c["id"] for c in other["contexts"]]


def test_ir_measures_reads_the_same_scores(files: Path) -> None:
    found = {
        (entry.query_id, entry.doc_id): entry.score
        for entry in ir_measures.read_trec_run(io.StringIO(RUN))
    }
    ours = read_run([files / "run.txt"])
    assert {(q, d): score for q, scores in ours.items() for d, score in scores.items()} == found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 Q0 a 1 mine", "run.txt:2: expected query id, Q0, document id"),
        ("q1 Q0 a one 1 mine", "expected query id"),
        ("q1 Q0 a 1 nan mine", "expected query id"),
        ("q1 Q0 b 9 0.5 mine", 'run.txt:2: document "b" comes twice for query "q1"'),
    ],
)
def test_lines_that_are_none_of_a_run(files: Path, line: str, message: str) -> None:
    (files / "run.txt").write_text(f"q1 Q0 b 1 0.5 mine\n{line}\n")
    with pytest.raises(DataError, match=message):
        contexts("trec-run", files)


def test_questions_are_needed_and_documents_named_once(files: Path) -> None:
    with pytest.raises(UsageError, match="--questions FILE"):
        next(load_joined_format("trec-run", Sources()).records([files / "run.txt"]))
    with pytest.raises(UsageError, match="give one of them"):
        contexts("trec-run", files, corpus=files / "corpus.jsonl", index=files)
    with pytest.raises(UsageError, match="for trec-run, not for qrels"):
        contexts("qrels", files, corpus=files / "corpus.jsonl")
    with pytest.raises(DataError, match="there is no index"):
        contexts("trec-run", files, index=files)


def test_judgements_become_gold_and_gold_judgements(files: Path) -> None:
    (files / "run.txt").write_text("q2 0 a 1\nq2 0 Net%20Museum 2\nq2 0 c 0\nq9 0 a 1\n")
    records, notes = contexts("qrels", files)
    gold = [{"id": "a"}, {"id": "Net%20Museum", "relevance": 2}]
    assert records == [{"id": "q2", "question": "Mills?", "evidence_gold": gold}]
    assert sorted(notes.values()) == [1, 2]
    text = "\n".join(Qrels().lines(records))
    assert text == "q2 0 a 1\nq2 0 Net%20Museum 2"


GOLD: list[dict[str, Any]] = [
    {
        "id": "q 1",
        "question": "?",
        "evidence_gold": [
            {"id": "Net Museum", "start": 0, "end": 4},
            {"id": "Net Museum", "start": 9, "end": 12},
            {"id": "b", "relevance": 3},
        ],
    },
    {"id": "q2", "question": "?", "evidence_gold": []},
    {"id": "q3", "question": "?", "gold_titles": ["A title is no id"]},
]


def test_qrels_in_both_forms_are_what_others_read(tmp_path: Path) -> None:
    trec, beir = Qrels(), Qrels(beir=True)
    lines = list(trec.lines(GOLD))
    assert lines == ["q%201 0 Net%20Museum 1", "q%201 0 b 3"]
    found = list(ir_measures.read_trec_qrels(io.StringIO("\n".join(lines))))
    assert [(entry.query_id, entry.doc_id, entry.relevance) for entry in found] == [
        ("q%201", "Net%20Museum", 1),
        ("q%201", "b", 3),
    ]
    path = tmp_path / "test.tsv"
    path.write_text("\n".join(beir.lines(GOLD)))
    assert read_qrels([path]) == {"q 1": {"Net Museum": 1, "b": 3}}
    assert sorted(trec.notes.values()) == [2, 2]
    assert list((+beir.notes).values()) == [2]
    with pytest.raises(UsageError, match="a tab or line break in an id"):
        list(beir.lines([{**GOLD[0], "id": "a\tb"}]))
