"""Dense search against sorting all dot products."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.retrieval.dense import DenseBuilder, DenseIndex, Vectors

DIMENSION = 4


def index_of(vectors: Vectors, directory: Path, order: list[int] | None = None) -> DenseIndex:
    builder = DenseBuilder(directory / "dense.faiss", vectors.shape[1])
    for start in range(0, len(vectors), 7):
        builder.add(vectors[start : start + 7])
    builder.save()
    ids = np.array(order if order is not None else range(len(vectors)), np.uint32)
    return DenseIndex(directory / "dense.faiss", ids)


def naive(question: Vectors, vectors: Vectors, order: list[int], depth: int) -> list[int]:
    scores = [round(float(np.dot(v.astype(float), question.astype(float))), 4) for v in vectors]
    return sorted(range(len(vectors)), key=lambda i: (-scores[i], order[i]))[:depth]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.integers(1, 60), st.integers(1, 3))
def test_equals_sorting_everything(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, depth: int, distinct: int
) -> None:
    """With few distinct vectors most scores are tied, also beyond what FAISS proposes first."""
    chance = np.random.default_rng(seed)
    pool = chance.standard_normal((distinct * 5, DIMENSION)).astype(np.float32)
    vectors = pool[chance.integers(0, len(pool), count)]
    order = chance.permutation(count).tolist()
    questions = chance.standard_normal((25, DIMENSION)).astype(np.float32)
    index = index_of(vectors, tmp_path_factory.mktemp("dense"), order)
    for question, found in zip(questions, index.search(questions, depth), strict=True):
        assert found.positions.tolist() == naive(question, vectors, order, depth)


def test_the_number_of_questions_changes_nothing(tmp_path: Path) -> None:
    """FAISS computes 20 questions and more by matrix products, fewer one by one."""
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((500, 64)).astype(np.float32)
    questions = chance.standard_normal((40, 64)).astype(np.float32)
    index = index_of(vectors, tmp_path)
    together = index.search(questions, 30)
    for question, found in zip(questions, together, strict=True):
        (alone,) = index.search(question[None], 30)
        assert alone.positions.tolist() == found.positions.tolist()
        assert alone.scores.tolist() == found.scores.tolist()


def test_more_than_there_is(tmp_path: Path) -> None:
    vectors = np.eye(3, DIMENSION, dtype=np.float32)
    (found,) = index_of(vectors, tmp_path).search(vectors[:1], 50)
    assert found.positions.tolist() == [0, 1, 2]


def test_no_vectors_no_questions(tmp_path: Path) -> None:
    index = index_of(np.empty((0, DIMENSION), np.float32), tmp_path)
    (found,) = index.search(np.ones((1, DIMENSION), np.float32), 5)
    assert len(found) == 0
    assert index.search(np.empty((0, DIMENSION), np.float32), 5) == []


def test_only_the_index_is_left(tmp_path: Path) -> None:
    index_of(np.eye(3, DIMENSION, dtype=np.float32), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dense.faiss"]
