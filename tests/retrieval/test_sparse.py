"""BM25 against rank-bm25, bm25s's own index and a plain loop."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from grasp_cli.retrieval import sparse
from grasp_cli.retrieval.ranking import Order
from grasp_cli.retrieval.sparse import SparseBuilder, SparseIndex
from grasp_cli.retrieval.tokens import Tokenizer
from tests.conftest import shared

TOKENIZER = Tokenizer()


def in_order(count: int) -> Order:
    return np.arange(count, dtype=np.uint32)


def index_of(texts: list[str], directory: Path, method: str) -> SparseIndex:
    builder = SparseBuilder(directory / "bm25", TOKENIZER, method)
    builder.add(texts[: len(texts) // 2])
    builder.add(texts[len(texts) // 2 :])
    builder.save()
    order, count = in_order(len(texts)), len(texts)
    return SparseIndex(directory / "bm25", builder.words, count, TOKENIZER, order, method)


def corpus(kind: str) -> list[str]:
    """Texts of several kinds; in all of them some words are in more than half of the texts."""
    chance = random.Random(kind)
    if kind == "chinese":
        data = json.loads(shared("data/xquad/xquad.zh.json").read_text())["data"]
        paragraphs = [paragraph for part in data for paragraph in part["paragraphs"]]
        return ["水库，" + paragraph["context"] for paragraph in paragraphs]
    if kind == "wiki":
        path = shared("data/2wikimultihopqa/2wikimultihopqa_corpus_6119.jsonl")
        with open(path, encoding="utf-8") as stream:
            return [json.loads(line)["text"] for line in islice(stream, 400)]
    words = [f"w{i}" for i in range(30)]
    if kind == "skewed":
        weights = [1 / (i + 1) for i in range(30)]
        sizes = [chance.randint(1, 40) for _ in range(80)]
        return [" ".join(chance.choices(words, weights, k=size)) for size in sizes]
    if kind == "short":
        return [" ".join(["all", *chance.choices(words, k=3)]) for _ in range(15)]
    return [" ".join(["the of", *chance.choices(words, k=12)]) for _ in range(50)] + ["", "!?"]


@pytest.mark.parametrize("kind", ["skewed", "short", "with empty texts", "wiki", "chinese"])
def test_okapi_ranks_as_rank_bm25(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = corpus(kind)
    tokens = [TOKENIZER.words(text) for text in texts]
    oracle = BM25Okapi(tokens, k1=1.5, b=0.75, epsilon=0.25)
    frequencies = Counter(word for words in tokens for word in set(words))
    assert any(count > len(texts) / 2 for count in frequencies.values())
    monkeypatch.setattr(sparse, "_BLOCK", 97)  # postings are sorted in many blocks
    index = index_of(texts, tmp_path, "okapi")
    chance = random.Random(0)
    for _ in range(60):
        common = frequencies.most_common(1)[0][0]
        question = [*chance.choices(sorted(frequencies), k=5), common, "unknown"]
        expected = np.round(oracle.get_scores(question), 4)
        best = sorted(np.flatnonzero(expected > 0), key=lambda i: (-expected[i], i))[:20]
        found = index.search(" ".join(question), 20)
        assert found.scores == pytest.approx(expected[best], abs=1.01e-4)  # last digit: float32
        assert expected[found.positions] == pytest.approx(found.scores, abs=1.01e-4)
        exact = expected[found.positions]
        assert all(a >= b - 2e-4 for a, b in pairwise(exact))


@pytest.mark.parametrize("kind", ["skewed", "short", "with empty texts", "wiki", "chinese"])
def test_lucene_scores_as_bm25s(kind: str, tmp_path: Path) -> None:
    texts = corpus(kind)
    tokens = [TOKENIZER.words(text) for text in texts]
    oracle = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    oracle.index(tokens, show_progress=False)
    index = index_of(texts, tmp_path, "lucene")
    chance = random.Random(0)
    for _ in range(60):
        question = chance.choices(tokens[0] + tokens[-3], k=4)
        expected = oracle.get_scores(question)
        found = index.search(" ".join(question), len(texts))
        assert found.scores == pytest.approx(expected[found.positions], abs=1e-4)
        assert len(found) == int((expected > 6e-5).sum())


def test_lucene_by_hand(tmp_path: Path) -> None:
    index = index_of(["river river bank", "bank", "ice"], tmp_path, "lucene")
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    weight = 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / (5 / 3)))
    assert index.search("river", 5).scores.tolist() == [round(idf * weight, 4)]


def test_a_word_asked_twice_counts_twice(tmp_path: Path) -> None:
    index = index_of(["river", "bank", "ice"], tmp_path, "lucene")
    once, twice = index.search("river", 1), index.search("river river", 1)
    assert twice.scores[0] == pytest.approx(2 * once.scores[0], abs=1e-4)


@given(st.permutations(list(range(12))), st.integers(1, 12))
def test_ties_are_broken_by_id_at_every_depth(order: list[int], depth: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        builder = SparseBuilder(Path(directory) / "bm25", TOKENIZER, "lucene")
        builder.add(["river ice"] * 12)
        builder.save()
        ids = np.array(order, np.uint32)
        index = SparseIndex(Path(directory) / "bm25", builder.words, 12, TOKENIZER, ids)
        found = index.search("river", depth)
        assert [order[position] for position in found.positions] == list(range(depth))


@pytest.mark.parametrize("texts", [[], ["", "!"]])
def test_nothing_to_find(texts: list[str], tmp_path: Path) -> None:
    assert len(index_of(texts, tmp_path, "okapi").search("river", 3)) == 0


@pytest.mark.parametrize("block", [1, 2, 5, 1 << 20])
def test_blocks_change_no_byte(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = corpus("skewed")
    index_of(texts, tmp_path, "okapi")
    whole = {path.name: path.read_bytes() for path in (tmp_path / "bm25").iterdir()}
    monkeypatch.setattr(sparse, "_BLOCK", block)
    (tmp_path / "again").mkdir()
    index_of(texts, tmp_path / "again", "okapi")
    again = {path.name: path.read_bytes() for path in (tmp_path / "again" / "bm25").iterdir()}
    assert again == whole


def test_files_hold_no_pickle_and_are_mapped(tmp_path: Path) -> None:
    index = index_of(["river", "bank"], tmp_path, "lucene")
    names = sorted(path.name for path in (tmp_path / "bm25").iterdir())
    assert names == ["passages.npy", "scores.npy", "starts.npy", "words.npy", "words.txt"]
    for path in (tmp_path / "bm25").glob("*.npy"):
        np.load(path, allow_pickle=False)
    assert isinstance(index._engine.scores["data"], np.memmap)
    assert (tmp_path / "bm25" / "words.txt").read_text() == "bank\nriver\n"
