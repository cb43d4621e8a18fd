"""Chunks from tokens: matrix products against plain loops, and windows of whole chunks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.models.chunk_pooling import (
    aggregated,
    head_weights,
    pooled_attention,
    pooled_states,
)
from grasp_cli.models.chunk_windows import Window, chunk_windows
from grasp_cli.models.runtime import torch_runtime
from tests.retrieval.tree import naive

BOUNDS = [1, 4, 5, 9, 12]  # the first token and the last three are in no chunk


def tokens(*shape: int) -> np.ndarray:
    """Attention of 15 tokens: each row sums to one."""
    found = np.random.default_rng(4).random((*shape, 15, 15)).astype(np.float32)
    return found / found.sum(-1, keepdims=True)


def test_pooled_attention_equals_plain_loops() -> None:
    attention = tokens(2, 3)
    pooled = pooled_attention(torch_runtime(1).from_numpy(attention), BOUNDS).numpy()
    for layer in range(2):
        for head in range(3):
            expected = naive.attention(attention[layer, head], BOUNDS)
            np.testing.assert_allclose(pooled[layer, head], expected, atol=1e-6)


def test_pooled_states_are_means() -> None:
    states = np.random.default_rng(5).standard_normal((15, 7)).astype(np.float32)
    pooled = pooled_states(torch_runtime(1).from_numpy(states), BOUNDS).numpy()
    expected = [states[a:b].mean(0) for a, b in itertools.pairwise(BOUNDS)]
    np.testing.assert_allclose(pooled, expected, atol=1e-6)


def test_a_chunk_without_tokens_is_zeros_and_changes_nothing_else() -> None:
    attention = torch_runtime(1).from_numpy(tokens())
    pooled = pooled_attention(attention, [1, 4, 4, 5, 9, 12])
    rest = [0, 2, 3, 4]
    expected = pooled_attention(attention, BOUNDS)
    np.testing.assert_allclose(pooled[rest][:, rest], expected, atol=1e-6)
    assert not pooled[1].any() and not pooled[:, 1].any()
    assert not pooled_states(attention, [1, 4, 4])[1].any()


def test_aggregation_is_one_softmax_over_all_heads_then_symmetric() -> None:
    torch = torch_runtime(1)
    attention = np.random.default_rng(6).random((2, 3, 4, 4)).astype(np.float32)
    alpha = np.array([[0.1, -2, 0.5], [3, 0, 0.2]], np.float32)
    weights = np.exp(alpha) / np.exp(alpha).sum()
    mixed = sum(weights[i, j] * attention[i, j] for i in range(2) for j in range(3))
    found = aggregated(torch.from_numpy(attention), head_weights(torch.from_numpy(alpha))).numpy()
    np.testing.assert_allclose(found, (mixed + mixed.T) / 2, atol=1e-6)
    np.testing.assert_array_equal(found, found.T)


def test_windows_repeat_the_last_chunks_of_the_one_before() -> None:
    bounds = list(range(0, 101, 10))
    found = list(chunk_windows(bounds, 40, 0.25))
    assert [(w.first, w.last) for w in found] == [(0, 4), (3, 7), (6, 10)]
    assert found[1] == Window(3, 7, 30, 70)
    assert [(w.first, w.last) for w in chunk_windows(bounds, 100, 0.25)] == [(0, 10)]
    assert list(chunk_windows([0], 40, 0.25)) == []


def test_one_chunk_is_repeated_even_where_it_is_long() -> None:
    assert [(w.first, w.last) for w in chunk_windows([0, 5, 25, 40], 40, 0.25)] == [(0, 3)]
    found = chunk_windows([0, 5, 30, 45], 40, 0.25)
    assert [(w.first, w.last) for w in found] == [(0, 2), (1, 3)]


def test_a_chunk_longer_than_the_window_has_windows_of_its_own() -> None:
    found = list(chunk_windows([0, 5, 100, 105], 40, 0.25))
    assert found == [
        Window(0, 1, 0, 5),
        Window(1, 2, 5, 36),
        Window(1, 2, 36, 68),
        Window(1, 2, 68, 100),
        Window(2, 3, 100, 105),
    ]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=40),
    st.integers(5, 40),
    st.sampled_from([0.0, 0.25, 0.5, 0.9]),
)
def test_windows_hold_every_token_and_neighbours_meet(
    sizes: list[int], room: int, overlap: float
) -> None:
    bounds = [0, *np.cumsum(sizes).tolist()]
    windows = list(chunk_windows(bounds, room, overlap))
    assert all(w.end - w.start <= room for w in windows)
    assert {t for w in windows for t in range(w.start, w.end)} == set(range(bounds[-1]))
    assert {c for w in windows for c in range(w.first, w.last)} == set(range(len(sizes)))
    for left, (a, b) in enumerate(itertools.pairwise(sizes)):
        if a + b <= room:
            assert any(w.first <= left and left + 1 < w.last for w in windows)
    for before, after in itertools.pairwise(windows):
        assert after.last > before.last or after.start == before.end


@pytest.mark.parametrize("room", [10, 512])
def test_windows_grow_in_number_as_chunks_do(room: int) -> None:
    """No window is made twice: what is repeated is at most the share that is asked for."""
    bounds = list(range(0, 5 * 4001, 5))
    count = len(list(chunk_windows(bounds, room, 0.25)))
    assert count <= 1.5 * 5 * 4000 / room * (2 if room == 10 else 1)
