"""The format is told from the input; records are written as runs, judgements and batches."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from grasp_cli.cli.main import app
from grasp_cli.pipe.errors import GraspError
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.writer import Settings, build
from tests.conftest import Run, lines
from tests.retrieval.fakes import HashingEncoder

Convert = Callable[..., tuple[int, str]]
HOTPOT = {
    "_id": "q1",
    "question": "Nets?",
    "answer": "yes",
    "supporting_facts": [["Net Museum", 0]],
    "context": [["Net Museum", ["One.", " Two."]], ["Mill", ["Three."]]],
}
DPR = {"question": "Mills?", "answers": ["x"], "ctxs": [{"title": "Mill", "text": "Three."}]}
TOPICS = "<top>\n<num> Number: q1\n<title> Nets\n</top>\n"


@pytest.fixture
def small_index(tmp_path: Path) -> Path:
    """An index of two documents of several passages each, without a model."""
    sentences = [f"Sentence {number} of many about nets and mills." for number in range(12)]
    documents = [
        {"id": name, "title": name, "text": " ".join(sentences)} for name in ("net-museum", "mill")
    ]
    settings = Settings("hashing", "0", passage_words=20)
    build(documents, tmp_path / "index", settings, HashingEncoder())
    return tmp_path / "index"


@pytest.fixture
def convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Convert:
    """Run in this process and in an empty directory; the exit code, and what is said."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["convert", *args])
        if isinstance(done.exception, GraspError):
            return done.exception.exit_code, str(done.exception)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stderr

    return run


def read(name: str) -> list[dict[str, Any]]:
    return lines(Path(name).read_text())


def test_named_or_told_the_records_are_the_same(convert: Convert) -> None:
    Path("a.json").write_bytes(gzip.compress(("\ufeff" + json.dumps([HOTPOT])).encode()))
    code, said = convert("a.json", "-o", "told.jsonl")
    assert (code, "the input is hotpotqa" in said) == (0, True)
    assert convert("hotpotqa", "a.json", "-o", "named.jsonl")[0] == 0
    assert read("told.jsonl") == read("named.jsonl")
    assert convert("a.json", "--documents", "-o", "documents.jsonl")[0] == 0
    assert [document["id"] for document in read("documents.jsonl")] == ["Net Museum", "Mill"]


def test_standard_input_is_looked_at_and_then_read_whole(grasp: Run) -> None:
    many = [{**HOTPOT, "_id": f"q{number}"} for number in range(2000)]
    text = json.dumps(many)
    assert len(text) > 1 << 18
    for data in (text.encode(), gzip.compress(text.encode())):
        done = grasp("convert", "--quiet", stdin=data)
        assert done.stderr == ""
        assert [record["id"] for record in lines(done.stdout)] == [item["_id"] for item in many]
    dash = grasp("convert", "-", "--to", "qrels", stdin=json.dumps(HOTPOT))
    assert dash.stdout == "q1 0 Net%20Museum 1\n"
    run = grasp("convert", "trec-run", stdin=json.dumps({**DPR, "id": "q7"}))
    assert run.stdout.split()[:2] == ["q7", "Q0"]


def test_a_dataset_of_the_hub_by_name(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = ModuleType("datasets")
    library.__version__ = "4.0.0"
    library.load_dataset = lambda name, config, split: [{**HOTPOT, "_id": f"{name}-{split}"}]
    monkeypatch.setitem(sys.modules, "datasets", library)
    named = ("nets/mills:plain", "--split", "dev")
    code, said = convert(*named, "-o", "out.jsonl")
    assert (code, "the input is hotpotqa" in said) == (0, True)
    assert [record["id"] for record in read("out.jsonl")] == ["nets/mills-dev"]
    assert convert("hotpotqa", *named, "--documents", "-o", "documents.jsonl")[0] == 0
    assert len(read("documents.jsonl")) == 2
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert convert("hf:nets/mills")[0] == 3


def test_files_of_two_formats_are_refused(convert: Convert) -> None:
    Path("a.json").write_text(json.dumps(HOTPOT))
    Path("b.jsonl").write_text(json.dumps(DPR))
    Path("empty").write_text("")
    code, said = convert("a.json", "b.jsonl")
    assert code == 4
    assert "a.json is hotpotqa, b.jsonl is dpr): convert them one by one" in said
    assert convert("empty", "a.json", "-o", "out.jsonl")[0] == 0
    assert convert("empty")[0] == 4
    assert convert("empty", "--allow-empty", "-o", "nothing.jsonl")[0] == 0
    assert Path("nothing.jsonl").read_text() == ""


def test_there_and_back_through_run_and_qrels(convert: Convert) -> None:
    Path("a.json").write_text(json.dumps(HOTPOT))
    Path("topics.txt").write_text(TOPICS)
    assert convert("a.json", "--to", "trec-run", "--tag", "mine", "-o", "run.txt")[0] == 0
    assert Path("run.txt").read_text() == "q1 Q0 Net%20Museum 1 1.0 mine\nq1 Q0 Mill 2 0.5 mine\n"
    assert convert("a.json", "--documents", "-o", "corpus.jsonl")[0] == 0
    joined = ("run.txt", "--questions", "topics.txt", "--corpus", "corpus.jsonl")
    assert convert(*joined, "-o", "back.jsonl")[0] == 0
    (record,) = read("back.jsonl")
    assert record["question"] == "Nets"
    assert [(c["id"], c["text"], c["rank"]) for c in record["contexts"]] == [
        ("Net Museum", "One. Two.", 1),
        ("Mill", "Three.", 2),
    ]
    assert convert("a.json", "--to", "beir-qrels", "-o", "test.tsv")[0] == 0
    assert convert("test.tsv", "--questions", "a.json", "-o", "gold.jsonl")[0] == 0
    (judged,) = read("gold.jsonl")
    assert judged["evidence_gold"] == [{"id": "Net Museum"}]


def test_the_documents_of_a_run_from_an_index(convert: Convert, small_index: Path) -> None:
    """Every passage of a document, in its order and before those of the next document."""
    index = Index(small_index)
    passages = [index.context(place, {}) for place in range(index.manifest.passages)]
    Path("run.txt").write_text("q1 Q0 mill 1 2.0 x\nq1 Q0 net-museum 2 1.5 x\nq1 Q0 none 3 1 x\n")
    Path("topics.txt").write_text(TOPICS)
    arguments = ("run.txt", "--questions", "topics.txt", "-x", str(small_index))
    code, said = convert("trec-run", *arguments, "-o", "out.jsonl")
    assert code == 0
    assert "1 documents of the run are not among the documents given" in said
    (record,) = read("out.jsonl")
    found = record["contexts"]
    expected = [p for d in ("mill", "net-museum") for p in passages if p["doc_id"] == d]
    assert [context["id"] for context in found[:-1]] == [passage["id"] for passage in expected]
    assert len(expected) > 2
    assert [context["rank"] for context in found] == list(range(1, len(found) + 1))
    for context, passage in zip(found, expected, strict=False):
        assert (context["text"], context["start"]) == (passage["text"], passage["start"])
    assert [context["score"] for context in found] == sorted(
        (context["score"] for context in found), reverse=True
    )


def test_a_batch_there_and_back(convert: Convert) -> None:
    Path("a.json").write_text(json.dumps(HOTPOT))
    assert convert("a.json", "-o", "records.jsonl")[0] == 0
    batch = ("--to", "openai-batch", "--reader-model", "gpt-x")
    assert convert("records.jsonl", *batch, "--prompt", "natural", "-o", "in.jsonl")[0] == 0
    (request,) = read("in.jsonl")
    assert (request["custom_id"], request["body"]["model"]) == ("q1", "gpt-x")
    body = {"model": "gpt-x", "choices": [{"message": {"content": "yes"}}]}
    output = {"custom_id": "q1", "response": {"status_code": 200, "body": body}}
    Path("out.jsonl").write_text(json.dumps(output))
    assert convert("out.jsonl", "--questions", "records.jsonl", "-o", "done.jsonl")[0] == 0
    (answered,) = read("done.jsonl")
    assert answered == {**read("records.jsonl")[0], **answered}
    assert (answered["answer"], answered["reader"]["model"]) == ("yes", "gpt-x")
    Path("out.jsonl").write_text(json.dumps({"custom_id": "q1", "error": {"message": "late"}}))
    code, said = convert("out.jsonl", "--questions", "records.jsonl", "-o", "done.jsonl")
    assert (code, "1 records written, 1 without an answer" in said) == (7, True)
    assert "late" in read("done.jsonl")[0]["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("squad", "a.json"), 4, 'a.json:1: "paragraphs" must be there'),
        (("asqa", "a.json"), 4, '"qa_pairs" must be there as a list; keys: _id, question'),
        (("qasper", "a.json"), 4, '"qas" must be there as a list'),
        (("contract-nli", "a.json"), 4, '"labels" must be there as an object'),
        (("openai-batch", "a.json", "--questions", "a.json"), 4, "a line of a batch's output"),
        (("trec-run", "a.json", "--questions", "a.json"), 4, "expected query id, Q0"),
        (("openai-batch", "a.json"), 2, "--questions FILE"),
        (("gone.json",), 2, 'no format "gone.json"; the formats are hotpotqa'),
        (("owner/name",), 2, "(a dataset of the Hugging Face hub is hf:owner/name)"),
        (("a.json", "--to", "run"), 2, "--to run: the formats to write are trec-run, qrels"),
        (("a.json", "--to", "qrels", "--documents"), 2, "contradict each other"),
        (("a.json", "--to", "openai-batch"), 2, "needs --reader-model"),
        (("a.json", "--reader-model", "x"), 2, "--reader-model is for --to openai-batch"),
        (("a.json", "--to", "qrels", "--prompt", "strict"), 2, "--prompt is for --to"),
        (("csv", "a.json", "--to", "qrels"), 2, "--to qrels writes records, and csv gives"),
        (("csv", "a.json", "--split", "dev"), 2, "--split is for datasets, not for csv"),
        (("a.json", "--split", "dev"), 2, "--split dev: a.json has no splits"),
        (("a.json", "--corpus", "a.json"), 2, "are for trec-run, qrels, openai-batch, not for"),
        (("a.json", "--column", "text=x"), 2, "--column is for tables"),
    ],
)
def test_what_is_wrong(
    convert: Convert, arguments: tuple[str, ...], code: int, message: str
) -> None:
    Path("a.json").write_text(json.dumps(HOTPOT))
    found, said = convert(*arguments, "-o", "out")
    assert message in said
    assert found == code
    assert not Path("out").exists()
