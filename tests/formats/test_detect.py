from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.formats.detect import detect
from grasp_cli.pipe.errors import DataError
from tests.conftest import shared

ASKED = {"question": "?", "answers": ["x"]}
OBJECTS: list[tuple[str, Any]] = [
    ("hotpotqa", {"_id": "1", "question": "?", "answer": "x", "context": [["T", ["S."]]]}),
    ("hotpotqa", {"question": "?", "context": {"title": ["T"], "sentences": [["S."]]}}),
    ("musique", {"question": "?", "paragraphs": [{"paragraph_text": "x"}]}),
    ("dpr", {**ASKED, "ctxs": []}),
    ("squad", {"data": [], "version": "1.1"}),
    ("squad", {"title": "T", "paragraphs": []}),
    ("squad", {"question": "?", "context": "x", "answers": {"text": [], "answer_start": []}}),
    ("asqa", {"ambiguous_question": "?", "qa_pairs": []}),
    ("asqa", {"question": "?", "qa_pairs": [], "docs": []}),
    ("asqa", {"7": {"ambiguous_question": "?", "qa_pairs": []}}),
    ("asqa", {"train": {"7": {"ambiguous_question": "?", "qa_pairs": []}}, "dev": {}}),
    ("qasper", {"doc_id": "1", "text": "x", "qas": []}),
    ("qasper", {"1909.1": {"title": "T", "qas": []}}),
    ("qasper", {"id": "1909.1", "abstract": "x", "qas": {"question": []}}),
    ("musique", {"question": "?", "paragraphs": {"paragraph_text": ["x"]}}),
    ("open-qa", {"question": "?", "answer": ["x", "y"]}),
    ("open-qa", {"question_id": "t", "question": "?", "answer": {"value": "x", "aliases": []}}),
    ("records", {"question": "?", "answer": "x", "reader": {}}),
    ("records", {"question": "?", "answer": "x", "answers": ["y"]}),
    ("records", {"question": "?", "answer": None}),
    ("contract-nli", {"documents": [], "labels": {}}),
    ("openai-batch", {"id": "b", "custom_id": "q", "response": None, "error": {}}),
    ("records", ASKED),
    ("records", {"query": "?", "docs": ["x"]}),
    ("records", {"question": "?", "contexts": [], "context": "x", "qa_pairs": []}),
]
TEXTS = [
    ("trec-run", "301 Q0 FT911-3 1 12.5 mine\n301 Q0 FT911-4 2 -3e-2 mine\n"),
    ("qrels", "301 0 FT911-3 1\n301 0 FT911-4 -1\n"),
    ("qrels", "query-id\tcorpus-id\tscore\nq 1\tNet Museum\t2\n"),
    ("topics", "<top>\n<num> Number: 301\n<title> Nets\n</top>\n"),
    ("topics", '<?xml version="1.0"?>\n<topics>\n<topic number="1"><query>nets</query></topic>'),
    ("tsv", "id\ttext\ttitle\n1\tA net, torn.\tNets\n"),
    ("csv", 'id,"Contents"\n1,"A net, torn."\n'),
]


def written(folder: Path, text: str | bytes, name: str = "input") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("name", "item"), OBJECTS)
def test_objects(tmp_path: Path, name: str, item: Any) -> None:
    line = json.dumps(item)
    for text in (line, f"[{line}]", f"\ufeff \n{json.dumps(item, indent=1)}", f"{line}\n{line}\n"):
        assert detect(written(tmp_path, text)) == name
    assert detect(written(tmp_path, gzip.compress(line.encode()))) == name


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_lines(tmp_path: Path, name: str, text: str) -> None:
    for variant in (text, f"\ufeff{text}", text.replace("\n", "\r\n"), f"\n{text}"):
        assert detect(written(tmp_path, variant)) == name


def test_names_help_only_with_plain_text(tmp_path: Path) -> None:
    assert detect(written(tmp_path, "[Nets](x) are old.", "a.md")) == "text"
    assert detect(written(tmp_path, "Nets are old.", "a.txt")) == "text"
    assert detect(written(tmp_path, gzip.compress(b"Nets are old."), "a.txt.gz")) == "text"
    assert detect(written(tmp_path, "number,body\n1,x\n", "a.csv")) == "csv"
    assert detect(written(tmp_path, "PAR1\0\0")) == "parquet"
    assert detect(written(tmp_path, json.dumps(ASKED), "a.txt")) == "records"


def test_directories(tmp_path: Path) -> None:
    assert detect(tmp_path) == "text"
    (tmp_path / "qrels").mkdir()
    written(tmp_path, "", "queries.jsonl")
    assert detect(tmp_path) == "beir"
    qrels = "query-id\tcorpus-id\tscore\n"
    assert detect(written(tmp_path / "qrels", qrels, "test.tsv")) == "beir"


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff", "[]", "\ufeff[ ]\n", gzip.compress(b"")])
def test_nothing(tmp_path: Path, text: str | bytes) -> None:
    assert detect(written(tmp_path, text)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question": "?", "context": [], "ctxs": []}', "could be any of hotpotqa, dpr: name"),
        ('{"question": "?", "answer": "x"}', "could be any of records, open-qa: name the format"),
        ("1\tWhat?\n2\tWhere?\n", "could be any of topics, tsv: name the format"),
        ('{"_id": "d", "text": "x"}', "look like documents .keys: _id, text.*grasp index reads"),
        ('{"custom_id": "q", "method": "POST", "body": {}}', "requests of a batch, not its output"),
        ('{"a": 1}', "no format is recognised by these keys: a; name one of hotpotqa, musique"),
        ("Nets are old.", "no format is recognised here: name one of .*openai-batch, text"),
        ("<html></html>", "no format is recognised here"),
        ('[{"question": ', "not JSON"),
        ("[1, 2]", "expected an object"),
        (gzip.compress(b"x" * 5000)[:30], "the compressed data is damaged"),
    ],
)
def test_what_is_not_clear(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        detect(written(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("hotpotqa", "hotpotqa/dev.json"),
        ("hotpotqa", "2wikimultihopqa/dev.json"),
        ("musique", "musique/dev.json"),
        ("dpr", "natural_questions/dev_top3.jsonl"),
        ("dpr", "natural_questions/train_gold_passage.jsonl.gz"),
        ("squad", "xquad/xquad.de.json"),
        ("qasper", "qasper/papers.jsonl"),
        ("contract-nli", "contract_nli/contract_nli_dev.json"),
        ("beir", "scifact_subset"),
        ("beir", "scifact_subset/qrels/test.tsv"),
        ("records", "2wikimultihopqa/2wikimultihopqa_101_questions_gold_titles.jsonl"),
        ("text", "messy_docs"),
        ("text", "messy_docs/github-terms-of-service.md"),
    ],
)
def test_real_files(name: str, path: str) -> None:
    assert detect(shared(f"data/{path}")) == name
