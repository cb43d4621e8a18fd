"""`grasp retrieve --rerank` as a user runs it, on a tiny cross-encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grasp_cli.models.cross_encoder import CrossEncoder
from grasp_cli.retrieval.writer import Settings, build
from tests.compression import tiny
from tests.conftest import Run, lines
from tests.retrieval.fakes import HashingEncoder

TEXTS = ["The river froze.", "A river of ice: the river!", "River.", "No river here, but ice."]
QUESTIONS = ["Which river?", "Where is the river?"]
STDIN = "".join(json.dumps({"id": text, "question": text}) + "\n" for text in QUESTIONS)
SEARCH = ("retrieve", "-x", "index", "--mode", "sparse")


@pytest.fixture(autouse=True)
def index(tmp_path: Path) -> None:
    documents = [{"id": f"d{n}", "title": "T", "text": text} for n, text in enumerate(TEXTS)]
    build(documents, tmp_path / "index", Settings("hashing", "0"), HashingEncoder())


def test_the_best_of_a_deeper_search(grasp: Run, tmp_path: Path) -> None:
    path = tiny.cross_encoder(tmp_path / "model")
    options = ("--rerank", "model", "-k", "2")
    done = grasp(*SEARCH, *options, stdin=STDIN)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("model on cpu, float32") == 1
    model = CrossEncoder(path, threads=1)
    for record in lines(done.stdout):
        pairs = [(record["question"], f"T\n{text}") for text in TEXTS]
        scores = {f"d{n}": round(score, 4) for n, score in enumerate(model.logits(pairs).tolist())}
        best = sorted(scores, key=lambda name: (-scores[name], name))[:2]
        assert [(c["id"], c["score"], c["rank"]) for c in record["contexts"]] == [
            (name, scores[name], rank) for rank, name in enumerate(best, start=1)
        ]
        assert {"first_rank", "first_score", "sparse_rank"} <= set(record["contexts"][0])
    shallow = grasp(*SEARCH, *options, "--rerank-depth", "1", "--quiet", stdin=STDIN)
    plain = grasp(*SEARCH, "-k", "2", stdin=STDIN)
    assert shallow.stderr == ""
    for one, other in zip(lines(shallow.stdout), lines(plain.stdout), strict=True):
        assert {c["id"] for c in one["contexts"]} == {c["id"] for c in other["contexts"]}


def test_models_that_are_none(grasp: Run, tmp_path: Path) -> None:
    missing = grasp(*SEARCH, "--rerank", "cross-encoder/ms-marco-MiniLM-L-6-v2", stdin=STDIN)
    assert missing.returncode == 3
    assert "hf download cross-encoder/ms-marco-MiniLM-L-6-v2" in missing.stderr
    tiny.bert(tmp_path / "bert")
    other = grasp(*SEARCH, "--rerank", "bert", stdin=STDIN)
    assert other.returncode == 5
    assert "bert: no cross-encoder" in other.stderr
    assert "Traceback" not in missing.stderr + other.stderr
