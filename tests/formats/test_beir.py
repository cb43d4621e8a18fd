from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from grasp_cli.formats import load_format
from grasp_cli.pipe.errors import DataError, UsageError

QUERIES = (
    '{"_id": "q1", "text": "Who?", "metadata": {"answers": ["Ann"]}}\n'
    '{"_id": "q2", "text": "What?"}\n'
    '{"_id": "q3", "text": "Why?", "metadata": {}}\n'
)
CORPUS = (
    b'{"_id": "d1", "title": "A", "text": "One."}\n{"_id": "d2", "title": "", "text": "Two."}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\nq2\td2\t0\nq9\td1\t1\n"
    )
    (tmp_path / "qrels" / "dev.tsv").write_text("q3\td1\t1\n")
    return tmp_path


def test_judged_queries(folder: Path) -> None:
    form = load_format("beir")
    assert list(form.records(folder / "qrels" / "test.tsv")) == [
        {
            "id": "q1",
            "question": "Who?",
            "answers": ["Ann"],
            "evidence_gold": [{"id": "d1"}, {"id": "d2", "relevance": 2}],
        },
        {"id": "q2", "question": "What?", "evidence_gold": []},
    ]
    assert sorted(form.notes.values()) == [1, 1]  # q3 not judged, q9 not asked


def test_all_splits_of_the_folder(folder: Path) -> None:
    assert [record["id"] for record in load_format("beir").records(folder)] == ["q1", "q2", "q3"]


def test_without_judgements(folder: Path) -> None:
    for table in (folder / "qrels").iterdir():
        table.unlink()
    records = list(load_format("beir").records(folder))
    assert [record["id"] for record in records] == ["q1", "q2", "q3"]
    assert all("evidence_gold" not in record for record in records)


def test_documents_are_the_corpus(folder: Path) -> None:
    corpus = load_format("beir").corpus(folder)
    assert corpus is not None
    assert [(item["id"], item["title"], item["text"]) for item in corpus] == [
        ("d1", "A", "One."),
        ("d2", "", "Two."),
    ]


def test_what_is_wrong(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("q3\td1\tone\n")
    with pytest.raises(DataError, match=r"dev\.tsv:1: expected query id"):
        list(load_format("beir").records(folder))
    (folder / "queries.jsonl").unlink()
    with pytest.raises(DataError, match=r"no queries\.jsonl"):
        list(load_format("beir").records(folder / "qrels" / "test.tsv"))
    with pytest.raises(UsageError, match="beir reads a folder"):
        list(load_format("beir").records(folder / "corpus.jsonl.gz"))
