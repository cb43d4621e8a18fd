"""Which chunks merge with which: single linkage by a maximum spanning tree, in O(n²).

The plain rule: among all pairs of clusters merge the one of highest relation; the relation of the
new cluster to each other one is the larger of its two parts'. A cluster goes by its first chunk,
and of equal relations the pair of lowest (first, second) is merged.

Prim's algorithm gives the levels at which clusters merge, since those are the edges of a maximum
spanning tree. Where more than two clusters meet at one level, the plain rule lets the one of lowest
first chunk take in its lowest neighbour, again and again: `_Clusters.absorb`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[Any]  # shape (n,)


class Relation(Protocol):
    """How near each chunk is to each other one: a symmetric n x n matrix, given row by row."""

    def __len__(self) -> int: ...

    def row(self, number: int) -> Row:
        """Finite values; the one at `number` itself is not looked at."""
        ...


class Dense:
    """A whole matrix as a relation."""

    def __init__(self, matrix: npt.NDArray[Any]) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._matrix)

    def row(self, number: int) -> Row:
        """A row of the matrix, not to be changed."""
        found: Row = self._matrix[number]
        return found


@dataclass(frozen=True)
class Merges:
    """The merges of n chunks in their order; chunk i is node i, merge k makes node n + k."""

    pairs: npt.NDArray[np.uint32]  # shape (n - 1, 2): nodes, the one with the first chunk first
    strengths: npt.NDArray[np.float32]  # shape (n - 1,): their relation, never increasing


def single_linkage(relation: Relation) -> Merges:
    """The merges of the plain rule; none of fewer than two chunks.

    Raises `ValueError` where the relation is not symmetric.
    """
    ends, weights = _spanning_tree(relation)
    clusters = _Clusters(relation)
    start = 0
    while start < len(weights):
        end = start + 1
        while end < len(weights) and weights[end] == weights[start]:
            end += 1
        if end == start + 1:
            clusters.merge(*sorted(map(clusters.find, ends[start])))
        else:
            for group in clusters.groups(ends[start:end]):
                clusters.absorb(group, weights[start])
        start = end
    pairs = np.array(clusters.pairs, np.uint32).reshape(-1, 2)
    return Merges(pairs, np.array(weights, np.float32))


def _spanning_tree(relation: Relation) -> tuple[list[list[int]], list[Any]]:
    """The n - 1 edges of a maximum spanning tree and their weights, highest first."""
    count = len(relation)
    ends = np.zeros((max(0, count - 1), 2), np.int64)
    if count < 2:
        return [], []
    best = relation.row(0).copy()
    nearest = np.zeros(count, np.int64)
    closed = np.full(count, False)
    lowest = -np.inf
    weights = np.empty(count - 1, best.dtype)
    best[0], closed[0] = lowest, True
    closer = np.empty(count, bool)
    for step in range(count - 1):
        found = int(best.argmax())
        ends[step] = nearest[found], found
        weights[step] = best[found]
        row = relation.row(found)
        closed[found] = True
        np.greater(row, best, out=closer)
        closer[closed] = False
        np.copyto(best, row, where=closer)
        np.copyto(nearest, found, where=closer)
        best[found] = lowest
    order = np.argsort(-weights, kind="stable")
    return ends[order].tolist(), weights[order].tolist()


class _Clusters:
    """Clusters so far, each called by its first chunk."""

    def __init__(self, relation: Relation) -> None:
        count = len(relation)
        self.pairs: list[tuple[int, int]] = []
        self._relation = relation
        self._parent = list(range(count))
        self._node = list(range(count))  # of each cluster
        self._members = [[number] for number in range(count)]
        self._rows: dict[int, Row] = {}  # relations of clusters that were needed
        self._unseen: list[list[int]] = [[] for _ in range(count)]  # whose rows are not yet in it

    def find(self, chunk: int) -> int:
        """The cluster of a chunk."""
        parent = self._parent
        while parent[chunk] != chunk:
            parent[chunk] = parent[parent[chunk]]
            chunk = parent[chunk]
        return chunk

    def merge(self, first: int, second: int) -> None:
        """Make one cluster of two; `first` is the lower one."""
        self.pairs.append((self._node[first], self._node[second]))
        self._parent[second] = first
        self._node[first] = len(self._parent) + len(self.pairs) - 1
        self._members[first] += self._members[second]
        self._unseen[first] += [second, *self._unseen[second]]
        self._members[second] = self._unseen[second] = []

    def groups(self, edges: Sequence[Sequence[int]]) -> list[list[int]]:
        """Clusters that edges of one weight bring together, each group sorted, lowest first."""
        top: dict[int, int] = {}

        def head(cluster: int) -> int:
            while top.setdefault(cluster, cluster) != cluster:
                top[cluster] = top[top[cluster]]
                cluster = top[cluster]
            return cluster

        for left, right in edges:
            first, second = sorted((head(self.find(left)), head(self.find(right))))
            top[second] = first
        found: dict[int, list[int]] = {}
        for cluster in sorted(top):
            found.setdefault(head(cluster), []).append(cluster)
        return list(found.values())

    def absorb(self, group: list[int], weight: float) -> None:
        """Merge a group at `weight`: its lowest cluster takes in its lowest neighbour each time."""
        lowest, *others = group
        if len(others) == 1:
            self.merge(lowest, others[0])
            return
        none = len(self._parent)
        cluster = np.full(none, none, np.int64)  # of the chunks that are left to be taken in
        for other in others:
            cluster[self._members[other]] = other
        for _ in others:
            neighbour = int(np.where(self._row(lowest) == weight, cluster, none).min())
            if neighbour == none:
                raise ValueError("the relation of chunks is not symmetric")
            cluster[self._members[neighbour]] = none
            self.merge(lowest, neighbour)

    def _row(self, cluster: int) -> Row:
        """The relation of a cluster to each chunk: the largest of its members'."""
        row = self._rows.get(cluster)
        if row is None:
            row = self._rows[cluster] = self._relation.row(cluster).copy()
        for other in self._unseen[cluster]:
            seen = self._rows.pop(other, None)
            np.maximum(row, self._relation.row(other) if seen is None else seen, out=row)
        self._unseen[cluster] = []
        return row
