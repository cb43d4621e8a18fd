from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.evidence_graph import components


def naive(positions: list[int], vectors: np.ndarray, delta: float, window: int) -> set[frozenset]:
    """Merge any two groups that an edge joins, until nothing changes."""
    groups = [{position} for position in positions]
    merged = True
    while merged:
        merged = False
        for a in groups:
            for b in groups:
                if a is not b and any(
                    abs(i - j) <= window
                    and round(float(vectors[positions.index(i)] @ vectors[positions.index(j)]), 4)
                    >= delta
                    for i in a
                    for j in b
                ):
                    groups = [g for g in groups if g is not a and g is not b] + [a | b]
                    merged = True
                    break
            if merged:
                break
    return {frozenset(group) for group in groups}


@given(st.sets(st.integers(0, 15), min_size=1), st.integers(0, 3), st.integers(0, 10**6))
def test_equals_the_naive_merging_of_groups(chosen: set[int], window: int, seed: int) -> None:
    positions = sorted(chosen)
    vectors = np.random.default_rng(seed).normal(size=(len(positions), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = components(positions, vectors, threshold=0.45, window=window)
    assert {frozenset(unit) for unit in found} == naive(positions, vectors, 0.45, window)
    assert found == sorted(found) and all(list(unit) == sorted(unit) for unit in found)


def test_distance_is_counted_in_the_original_document() -> None:
    same = np.ones((3, 1), np.float32)
    assert components([0, 3, 5], same, threshold=0.5, window=2) == [(0,), (3, 5)]


def test_a_unit_may_skip_a_sentence() -> None:
    vectors = np.asarray([[1, 0], [0, 1], [1, 0]], np.float32)
    assert components([1, 2, 3], vectors, threshold=0.5, window=2) == [(1, 3), (2,)]


def test_a_chain_joins_what_has_no_edge_of_its_own() -> None:
    angles = np.radians([0, 50, 100])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert components([0, 1, 2], vectors, threshold=0.6, window=2) == [(0, 1, 2)]


def test_the_threshold_itself_is_an_edge() -> None:
    vectors = np.asarray([[1, 0], [0.45, np.sqrt(1 - 0.45**2)]], np.float32)
    assert components([0, 1], vectors, threshold=0.45, window=1) == [(0, 1)]
