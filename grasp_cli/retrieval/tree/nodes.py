"""Nodes of a tree: n chunks are nodes 0 … n - 1, merge k makes node n + k, the last is the root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Pairs = npt.NDArray[Any]  # shape (n - 1, 2): the two nodes of each merge


def node_count(chunks: int) -> int:
    """How many nodes the tree of so many chunks has."""
    return max(0, 2 * chunks - 1)


def _mean_of_two(left: int, right: int) -> tuple[float, float]:
    return 0.5, 0.5


def _size_weighted(left: int, right: int) -> tuple[float, float]:
    return left / (left + right), right / (left + right)


MERGES: dict[str, Callable[[int, int], tuple[float, float]]] = {  # shares by chunks below
    "mean-of-two": _mean_of_two,
    "size-weighted": _size_weighted,
}


def progressive(vectors: Floats, pairs: Pairs, merge: str) -> Floats:
    """The vectors of all nodes, shape (2n - 1, d), from those of the chunks, shape (n, d).

    `merge` is a key of MERGES: the plain mean of the two vectors that merge (as published), or the
    mean weighted by chunks, which is the mean of all chunks below.
    """
    count, shares = len(vectors), MERGES[merge]
    found = np.empty((node_count(count), vectors.shape[1]), np.float32)
    found[:count] = vectors
    sizes = [1] * count
    for node, (left, right) in enumerate(pairs.tolist(), start=count):
        first, second = shares(sizes[left], sizes[right])
        found[node] = np.float32(first) * found[left] + np.float32(second) * found[right]
        sizes.append(sizes[left] + sizes[right])
    return found


def chunks_below(node: int, pairs: Pairs) -> list[int]:
    """The chunks of a node, ascending."""
    count, found, waiting = len(pairs) + 1, list[int](), [node]
    while waiting:
        here = waiting.pop()
        if here < count:
            found.append(here)
        else:
            waiting += pairs[here - count].tolist()
    return sorted(found)


def parents(pairs: Pairs) -> npt.NDArray[np.int64]:
    """The node above each node, shape (2n - 1,); of the root -1."""
    count = len(pairs) + 1
    found = np.full(node_count(count), -1, np.int64)
    found[pairs.astype(np.int64).ravel()] = np.repeat(np.arange(count, 2 * count - 1), 2)
    return found


def path_to(node: int, above: npt.NDArray[np.int64]) -> list[int]:
    """The nodes from the root to `node`, both included; `above` as `parents` gives it."""
    path = [node]
    while (parent := int(above[path[-1]])) >= 0:
        path.append(parent)
    return path[::-1]
