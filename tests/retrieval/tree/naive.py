"""The published steps, word for word and one number at a time."""

from __future__ import annotations

import itertools
from typing import Any


def merges(matrix: Any) -> tuple[list[tuple[int, int]], list[float]]:
    """Merge the pair of highest M again and again, in O(n³); nodes of each merge, and its M.

    Clusters stand in a list by their first chunk; the first of equal pairs in that order is taken.
    """
    relation = [[float(value) for value in row] for row in matrix]
    nodes, found, strengths = list(range(len(relation))), [], []
    count = len(relation)
    while len(nodes) > 1:
        best, pair = float("-inf"), (0, 0)
        for i in range(len(nodes)):
            row = relation[i]
            for j in range(i + 1, len(nodes)):
                if row[j] > best:
                    best, pair = row[j], (i, j)
        i, j = pair
        found.append((nodes[i], nodes[j]))
        strengths.append(best)
        for k in range(len(nodes)):
            relation[i][k] = relation[k][i] = max(relation[i][k], relation[j][k])
        nodes[i] = count + len(found) - 1
        del nodes[j], relation[j]
        for row in relation:
            del row[j]
    return found, strengths


def vectors(chunks: Any, pairs: Any, weighted: bool) -> list[list[float]]:
    """The vector of each node: the mean of its two, or of all its chunks."""
    found = [[float(value) for value in chunk] for chunk in chunks]
    below = [[number] for number in range(len(found))]
    for left, right in pairs:
        below.append(below[left] + below[right])
        members = below[-1] if weighted else [left, right]
        columns = zip(*(found[member] for member in members), strict=True)
        found.append([sum(column) / len(members) for column in columns])
    return found


def beam(scores: Any, pairs: Any, width: int) -> set[int]:
    """The nodes that a beam search from the root scores; ties to the lower node."""
    count = len(pairs) + 1
    frontier, scored = [2 * count - 2], {2 * count - 2}
    while frontier:
        children = [
            int(child) for node in frontier if node >= count for child in pairs[node - count]
        ]
        scored.update(children)
        frontier = sorted(children, key=lambda node: (-scores[node], node))[:width]
    return scored


def attention(tokens: Any, bounds: list[int]) -> list[list[float]]:
    """One head's attention between chunks: summed over keys, averaged over queries, rows to one."""
    chunks = [range(start, end) for start, end in itertools.pairwise(bounds)]
    rows = []
    for query in chunks:
        row = []
        for key in chunks:
            total = 0.0
            for i in query:
                for j in key:
                    total += float(tokens[i][j])
            row.append(total / len(query))
        rows.append([value / sum(row) for value in row])
    return rows
