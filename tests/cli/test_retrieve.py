"""`grasp retrieve` as a user runs it; the embedded encoder where vectors are needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.models.profiles import model_for
from grasp_cli.retrieval.model import weights_sha256
from grasp_cli.retrieval.writer import Settings, build
from tests.conftest import GRASP, Run, lines

pytestmark = pytest.mark.models

RIVER = '{"id": "1", "question": "river"}\n'
CORPORA = {
    "three": ["The river froze.", "The sun rose.", "A museum of trains."],
    "two": ["The river froze.", "The sun rose."],
    "twins": ["The river froze.", "The river froze."],
    "empty": ["", ""],
}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one small index of each corpus, documents d0, d1, …"""
    place = tmp_path_factory.mktemp("indexes")
    name = model_for("embedded", "dense")
    encoder = Encoder(find(name))
    for corpus, texts in CORPORA.items():
        documents = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
        settings = Settings(name, weights_sha256(encoder.path))
        build(documents, place / corpus, settings, encoder)
    return place


def contexts(done: Any) -> list[dict[str, Any]]:
    """The contexts of the only record of a run that went well."""
    assert done.returncode == 0, done.stderr
    (record,) = lines(done.stdout)
    found: list[dict[str, Any]] = record["contexts"]
    return found


def test_latency_is_said(grasp: Run, indexes: Path) -> None:
    done = grasp("retrieve", "-x", str(indexes / "two"), "-q", "river", "--latency")
    (record,) = lines(done.stdout)
    assert record["retrieval"]["latency"] is True and len(record["contexts"]) == 2


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_k_beyond_the_corpus(grasp: Run, indexes: Path, mode: str) -> None:
    done = grasp("retrieve", "-x", str(indexes / "three"), "-k", "50", "--mode", mode, stdin=RIVER)
    found = contexts(done)
    assert found[0]["id"] == "d0"
    assert sorted(context["id"] for context in found) == ["d0", "d1", "d2"]
    assert [context["rank"] for context in found] == [1, 2, 3]


def test_k_of_zero(grasp: Run, indexes: Path) -> None:
    done = grasp("retrieve", "-x", str(indexes / "three"), "-k", "0", stdin=RIVER)
    assert done.returncode == 2 and "-k" in done.stderr and done.stdout == ""


def test_word_in_half_of_the_documents(grasp: Run, indexes: Path) -> None:
    found = contexts(grasp("retrieve", "-x", str(indexes / "two"), "--mode", "sparse", stdin=RIVER))
    assert [context["id"] for context in found] == ["d0"]
    assert found[0]["score"] > 0


def test_unknown_words(grasp: Run, indexes: Path) -> None:
    zzzz = '{"id": "1", "question": "zzzz"}'
    where = ("-x", str(indexes / "three"))
    assert contexts(grasp("retrieve", *where, "--mode", "sparse", stdin=zzzz)) == []
    found = contexts(grasp("retrieve", *where, stdin=zzzz))
    assert all("dense_rank" in c and "sparse_rank" not in c for c in found)


def test_an_empty_question_is_an_error_of_its_record(grasp: Run, indexes: Path) -> None:
    stdin = '{"id": "no words", "question": " ", "mine": 1}\n' + RIVER
    done = grasp("retrieve", "-x", str(indexes / "three"), "--mode", "sparse", stdin=stdin)
    assert done.returncode == 7
    failed, good = lines(done.stdout)
    assert (failed["id"], failed["question"], failed["mine"]) == ("no words", " ", 1)
    assert failed["error"]["type"] == "EmptyQuestion" and "no words" in failed["error"]["message"]
    assert failed["error"]["stage"] == "retrieve"
    assert [context["id"] for context in good["contexts"]] == ["d0"]


@pytest.mark.parametrize("mode", ["hybrid", "sparse"])
def test_documents_all_empty(grasp: Run, indexes: Path, mode: str) -> None:
    done = grasp("retrieve", "-x", str(indexes / "empty"), "--mode", mode, stdin=RIVER)
    assert contexts(done) == []


def test_the_same_text_twice(grasp: Run, indexes: Path) -> None:
    found = contexts(grasp("retrieve", "-x", str(indexes / "twins"), stdin=RIVER))
    assert [(c["id"], c["dense_rank"], c["sparse_rank"]) for c in found] == [
        ("d0", 1, 1),
        ("d1", 2, 2),
    ]
    assert [context["score"] for context in found] == [round(2 / 11, 4), round(2 / 12, 4)]


def test_a_question_longer_than_the_encoder(grasp: Run, indexes: Path) -> None:
    question = "why " * 3000 + "did the river freeze?"
    record = json.dumps({"id": "1", "question": question})
    found = contexts(grasp("retrieve", "-x", str(indexes / "three"), stdin=record))
    assert found[0]["id"] == "d0"


def test_one_question(grasp: Run, indexes: Path) -> None:
    where = ("-x", str(indexes / "three"))
    done = grasp("retrieve", "-q", "When did it freeze?", *where, "-k", "1")
    (record,) = lines(done.stdout)
    assert (record["id"], record["question"]) == ("q1", "When did it freeze?")
    assert record["contexts"][0]["text"] == "The river froze."
    assert record["retrieval"]["mode"] == "hybrid" and record["retrieval"]["seconds"] > 0
    both = grasp("retrieve", "-q", "x", "questions.jsonl", *where)
    assert both.returncode == 2 and "-q" in both.stderr


def test_the_same_bytes_again(grasp: Run, indexes: Path) -> None:
    questions = "".join(
        json.dumps({"id": str(i), "question": f"river sun {i % 7}"}) + "\n" for i in range(40)
    )
    runs = [grasp("retrieve", "-x", str(indexes / "three"), stdin=questions) for _ in range(2)]
    found = [[record["contexts"] for record in lines(run.stdout)] for run in runs]
    assert found[0] == found[1]
    assert len({json.dumps(c) for c in found[0]}) <= 7


def test_no_index(grasp: Run) -> None:
    done = grasp("retrieve", "-q", "river")
    assert done.returncode == 3
    assert "grasp index DOCUMENTS.jsonl -x grasp_index" in done.stderr


def test_an_index_of_another_model_version_or_profile(
    grasp: Run, indexes: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    subprocess.run(["cp", "-r", str(indexes / "three"), str(made)], check=True)
    original = json.loads((made / "index.json").read_text())
    other = {**original, "model": {**original["model"], "sha256": "0" * 64}}
    (made / "index.json").write_text(json.dumps(other))
    done = grasp("retrieve", "-x", "made", "-q", "river")
    assert done.returncode == 5 and "made with all-MiniLM-L6-v2" in done.stderr
    assert grasp("retrieve", "-x", "made", "-q", "river", "--mode", "sparse").returncode == 0
    (made / "index.json").write_text(json.dumps({**original, "version": 99}))
    done = grasp("retrieve", "-x", "made", "-q", "river")
    assert done.returncode == 5 and "needs a newer grasp" in done.stderr
    (made / "index.json").write_text(json.dumps(original))
    done = grasp("retrieve", "-x", "made", "-q", "river", "--profile", "paper")
    assert done.returncode == 5 and "--profile paper" in done.stderr


def test_fusion_and_depth(grasp: Run, indexes: Path) -> None:
    where = ("-x", str(indexes / "three"), "-q", "When did the river freeze?")
    dense = ["--fusion", "weighted", "--fusion-weight", "1"]
    (best, *_) = contexts(grasp("retrieve", *where, *dense))
    assert (best["id"], best["score"]) == ("d0", 1.0)
    sparse = ["--fusion", "weighted", "--fusion-weight", "0", "--depth", "1"]
    found = contexts(grasp("retrieve", *where, *sparse))
    assert found[0]["score"] == 1.0 and found[0]["sparse_rank"] == 1 and len(found) <= 2
    done = grasp("retrieve", *where, "--fusion-weight", "1.5")
    assert done.returncode == 2 and "--fusion-weight" in done.stderr


SPY = """
import sys
from grasp_cli.cli import main
try:
    main.main()
finally:
    heavy = {"torch", "transformers", "faiss", "nltk", "sentence_transformers"} & set(sys.modules)
    print(*sorted(heavy), file=sys.stderr)
"""


def test_sparse_mode_loads_no_torch(indexes: Path) -> None:
    options = ["--quiet", "-x", str(indexes / "three"), "--mode", "sparse", "-q", "river"]
    done = subprocess.run(
        [sys.executable, "-c", SPY, "retrieve", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert lines(done.stdout)[0]["contexts"][0]["id"] == "d0"
    assert done.stderr.strip() == ""


def test_a_record_leaves_before_the_next_one_comes(indexes: Path) -> None:
    command = [*GRASP, "retrieve", "-x", str(indexes / "three"), "--mode", "sparse"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for number in range(2):
            process.stdin.write(f'{{"id": "{number}", "question": "river"}}\n'.encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == str(number)
        process.stdin.close()
        assert process.wait(60) == 0
