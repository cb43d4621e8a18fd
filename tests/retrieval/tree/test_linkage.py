"""The fast merges are those of the plain rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.retrieval.tree.cosines import Cosines
from grasp_cli.retrieval.tree.linkage import Dense, single_linkage
from grasp_cli.retrieval.tree.nodes import chunks_below, parents, path_to, progressive
from tests.retrieval.tree import naive


def symmetric(seed: int) -> np.ndarray:
    """A random matrix of 2 to 60 chunks; two in three have few distinct values, so many ties."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(2, 61))
    if seed % 3 == 0:
        matrix = chance.random((count, count))
    else:
        matrix = chance.integers(0, [2, 3, 10, count][seed % 4], (count, count)).astype(float)
    if seed % 5 == 0:  # attention: zero beyond a band
        matrix[np.abs(np.subtract.outer(np.arange(count), np.arange(count))) > 3] = 0
    return ((matrix + matrix.T) / 2).astype(np.float32)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_equals_the_plain_rule_on_200_matrices(first: int) -> None:
    for seed in range(first, first + 50):
        matrix = symmetric(seed)
        np.fill_diagonal(matrix, np.inf)  # is not looked at
        merges = single_linkage(Dense(matrix))
        np.fill_diagonal(matrix, -np.inf)
        pairs, strengths = naive.merges(matrix)
        assert merges.pairs.tolist() == [list(pair) for pair in pairs], seed
        assert merges.strengths.tolist() == strengths, seed


def ties() -> int:
    return sum(
        len(np.unique(single_linkage(Dense(symmetric(seed))).strengths)) < len(symmetric(seed)) - 1
        for seed in range(200)
    )


def test_most_of_those_matrices_have_ties_and_some_have_none() -> None:
    assert 100 < ties() < 180


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(0, 2), st.data())
def test_equals_the_plain_rule_on_any_small_matrix(count: int, top: int, data: Any) -> None:
    values = data.draw(st.lists(st.integers(0, top), min_size=count**2, max_size=count**2))
    matrix = np.array(values, np.float32).reshape(count, count)
    matrix = np.maximum(matrix, matrix.T)
    pairs, _ = naive.merges(matrix)
    assert single_linkage(Dense(matrix)).pairs.tolist() == [list(pair) for pair in pairs]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_merge(count: int) -> None:
    merges = single_linkage(Dense(np.ones((count, count), np.float32)))
    assert merges.pairs.shape == (0, 2) and merges.strengths.shape == (0,)


def test_all_alike_merge_in_order() -> None:
    merges = single_linkage(Dense(np.ones((5, 5), np.float32)))
    assert merges.pairs.tolist() == [[0, 1], [5, 2], [6, 3], [7, 4]]


def test_a_matrix_that_is_not_symmetric_is_refused() -> None:
    matrix = np.array([[0, 0, 0, 0.5], [0] * 4, [0] * 4, [0, 1, 1, 0]], np.float32)
    with pytest.raises(ValueError, match="not symmetric"):
        single_linkage(Dense(matrix))


@pytest.mark.parametrize("merge", ["mean-of-two", "size-weighted"])
def test_progressive_vectors(merge: str) -> None:
    for seed in range(0, 200, 8):
        matrix = symmetric(seed)
        pairs = single_linkage(Dense(matrix)).pairs
        chunks = np.random.default_rng(seed).standard_normal((len(matrix), 5)).astype(np.float32)
        expected = naive.vectors(chunks, pairs.tolist(), merge == "size-weighted")
        np.testing.assert_allclose(progressive(chunks, pairs, merge), expected, atol=2e-6)


def test_paths_and_chunks_of_nodes() -> None:
    """8
     6   7
    0 2 5  4
       1 3         by hand"""
    pairs = np.array([[1, 3], [0, 2], [5, 4], [6, 7]], np.uint32)
    above = parents(pairs)
    assert above.tolist() == [6, 5, 6, 5, 7, 7, 8, 8, -1]
    assert path_to(3, above) == [8, 7, 5, 3] and path_to(8, above) == [8]
    assert [chunks_below(node, pairs) for node in (2, 5, 7, 8)] == [
        [2],
        [1, 3],
        [1, 3, 4],
        [0, 1, 2, 3, 4],
    ]


def test_cosines_are_symmetric_to_the_last_bit_kept_or_not() -> None:
    vectors = np.random.default_rng(3).standard_normal((70, 37)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[41] = vectors[7]
    kept, computed = Cosines(vectors), Cosines(vectors, whole=0)
    matrix = np.stack([kept.row(number) for number in range(70)])
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(matrix, [computed.row(number) for number in range(70)])
    np.testing.assert_array_equal(matrix[41], matrix[7])
    np.testing.assert_allclose(matrix, vectors @ vectors.T, atol=4e-6)
