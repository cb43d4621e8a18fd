"""Dense search against sorting all dot products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.retrieval import dense
from grasp_cli.retrieval.dense import FORMATS, DenseIndex, Vectors, open_vectors

DIMENSION = 4


def stored(vectors: Vectors, directory: Path, dtype: str = "float32") -> Any:
    path = directory / "vectors.bin"
    path.write_bytes(np.ascontiguousarray(vectors, FORMATS[dtype]).tobytes())
    return open_vectors(path, dtype, vectors.shape[1], len(vectors))


def index_of(
    vectors: Vectors, directory: Path, order: list[int] | None = None, dtype: str = "float32"
) -> DenseIndex:
    ids = np.array(order if order is not None else range(len(vectors)), np.uint32)
    return DenseIndex(stored(vectors, directory, dtype), ids)


def naive(question: Vectors, vectors: Any, order: list[int], depth: int) -> list[int]:
    scores = [round(float(np.dot(v.astype(float), question.astype(float))), 4) for v in vectors]
    return sorted(range(len(vectors)), key=lambda i: (-scores[i], order[i]))[:depth]


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 90),
    st.integers(1, 60),
    st.integers(1, 3),
    st.sampled_from(["float32", "float16"]),
)
def test_equals_sorting_everything(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    count: int,
    depth: int,
    distinct: int,
    dtype: str,
) -> None:
    """With few distinct vectors most scores are tied, also beyond what FAISS proposes first."""
    chance = np.random.default_rng(seed)
    pool = chance.standard_normal((distinct * 5, DIMENSION)).astype(np.float32)
    vectors = pool[chance.integers(0, len(pool), count)]
    order = chance.permutation(count).tolist()
    questions = chance.standard_normal((25, DIMENSION)).astype(np.float32)
    index = index_of(vectors, tmp_path_factory.mktemp("dense"), order, dtype)
    kept = vectors.astype(FORMATS[dtype])
    for question, found in zip(questions, index.search(questions, depth), strict=True):
        assert found.positions.tolist() == naive(question, kept, order, depth)


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_float16_is_searched_in_blocks(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_BLOCK", block)
    chance = np.random.default_rng(4)
    vectors = chance.standard_normal((150, DIMENSION)).astype(np.float32)
    questions = chance.standard_normal((3, DIMENSION)).astype(np.float32)
    order = list(range(150))
    found = index_of(vectors, tmp_path, order, "float16").search(questions, 12)
    for question, ranking in zip(questions, found, strict=True):
        kept = vectors.astype(np.float16)
        assert ranking.positions.tolist() == naive(question, kept, order, 12)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_number_of_questions_changes_nothing(dtype: str, tmp_path: Path) -> None:
    """FAISS computes 20 questions and more by matrix products, fewer one by one."""
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((500, 64)).astype(np.float32)
    questions = chance.standard_normal((40, 64)).astype(np.float32)
    index = index_of(vectors, tmp_path, dtype=dtype)
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


def test_vectors_are_mapped_and_of_the_right_number(tmp_path: Path) -> None:
    vectors = np.eye(3, DIMENSION, dtype=np.float32)
    assert isinstance(stored(vectors, tmp_path), np.memmap)
    with pytest.raises(ValueError, match="not 4 vectors"):
        open_vectors(tmp_path / "vectors.bin", "float32", DIMENSION, 4)
