"""Approximate search: what it proposes is scored exactly, and its recall is what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grasp_cli.retrieval.ann import KINDS, LEAST, AnnIndex, build_ann, measured_recall
from grasp_cli.retrieval.dense import DenseIndex, Vectors
from tests.retrieval.conftest import MakeIndex

DIMENSION, COUNT = 8, 10_000


def clustered(seed: int, count: int) -> Vectors:
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((50, DIMENSION))
    vectors = centres[chance.integers(0, 50, count)] + chance.normal(0, 0.3, (count, DIMENSION))
    return vectors.astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_finds_most_and_scores_exactly(kind: str, dtype: type, tmp_path: Path) -> None:
    vectors = clustered(1, COUNT).astype(dtype)
    order = np.arange(COUNT, dtype=np.uint32)
    parameters = build_ann(kind, vectors, tmp_path / "ann", threads=1)
    opened = AnnIndex(tmp_path / "ann", parameters)
    assert len(opened) == COUNT
    exact, approximate = DenseIndex(vectors, order), DenseIndex(vectors, order, None, opened)
    questions = clustered(2, 30)
    shares = []
    pairs = zip(questions, approximate.search(questions, 10), strict=True)
    for question, found in pairs:
        scores = vectors.astype(float) @ question.astype(float)
        assert found.scores == pytest.approx(np.round(scores[found.positions], 4), abs=1e-9)
        best = np.argsort(-scores, kind="stable")[:10]
        shares.append(len(set(best.tolist()) & set(found.positions.tolist())) / 10)
    recall = measured_recall(approximate, exact, questions)
    assert recall == pytest.approx(np.mean(shares))
    assert recall > 0.9


def test_recall_is_below_one_where_passages_are_missed() -> None:
    vectors = np.arange(1, 41, dtype=np.float32)[:, None]

    class Half:
        """Proposes every other passage only."""

        def propose(self, questions: Vectors, count: int) -> tuple[Vectors, np.ndarray]:
            positions = np.tile(np.arange(0, 40, 2), (len(questions), 1))
            return np.zeros(positions.shape, np.float32), positions

    order = np.arange(40, dtype=np.uint32)
    questions = np.ones((3, 1), np.float32)
    half = DenseIndex(vectors, order, None, Half())
    assert measured_recall(half, DenseIndex(vectors, order), questions) == pytest.approx(0.5)


def test_fewer_than_asked_for(tmp_path: Path) -> None:
    vectors = clustered(3, 4)
    opened = AnnIndex(tmp_path / "a", build_ann("hnsw", vectors, tmp_path / "a"))
    index = DenseIndex(vectors, np.arange(4, dtype=np.uint32), None, opened)
    assert sorted(index.search(vectors[:1], 9)[0].positions.tolist()) == [0, 1, 2, 3]


def test_an_index_says_its_recall_and_searches_with_it(make_index: MakeIndex) -> None:
    documents = [{"id": str(i), "text": f"word{i % 7} number{i}. More of {i}."} for i in range(300)]
    index = make_index(documents, ann="hnsw")
    assert index.manifest.ann is not None
    assert index.manifest.ann["kind"] == "hnsw"
    assert index.manifest.ann["recall"]["questions"] == 128
    assert 0.9 < index.manifest.ann["recall"]["value"] <= 1
    plain = make_index(documents)
    questions = np.asarray(plain.vectors[:20])
    found, wanted = index.dense.search(questions, 3), plain.dense.search(questions, 3)
    same = [a.positions[0] == b.positions[0] for a, b in zip(found, wanted, strict=True)]
    assert np.mean(same) > 0.9


def test_too_few_passages_to_learn_from_are_searched_exactly(make_index: MakeIndex) -> None:
    index = make_index([{"id": "a", "text": "river"}], ann="ivfpq")
    assert index.manifest.ann == {"asked": "ivfpq", "exact_below": LEAST["ivfpq"]}
    assert not (index.directory / "ann.faiss").exists()
    assert index.manifest.settings.ann == "ivfpq"
    assert len(index.dense.search(np.ones((1, 16), np.float32), 3)[0]) == 1
