"""Evidence units: connected components of a graph of near and similar sentences (EP-EXIT, GRASP).

Sentences i and j of one document are joined where |i - j| <= w and their cosine >= delta; i and j
are positions in the original document. Units never cross documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS


def components(
    positions: Sequence[int],
    vectors: npt.NDArray[np.float32],
    *,
    threshold: float,
    window: int,
) -> list[tuple[int, ...]]:
    """Group sentences of one document into evidence units.

    Parameters
    ----------
    positions
        Positions in the document of the sentences that are left, ascending, length n.
    vectors
        Their embeddings, of length one, shape (n, d).
    threshold
        The least cosine of an edge (delta), compared after rounding to four decimals.
    window
        The largest distance of an edge in sentences (w).

    Returns
    -------
    list of tuple of int
        Positions of each unit, ascending; units in the order of their first sentence.
    """
    root = list(range(len(positions)))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for right in range(len(positions)):
        left = right - 1
        while left >= 0 and positions[right] - positions[left] <= window:
            cosine = round(float(vectors[left] @ vectors[right]), SCORE_DECIMALS)
            if cosine >= threshold:
                first, second = sorted((find(left), find(right)))
                root[second] = first
            left -= 1
    units: dict[int, list[int]] = {}
    for node, position in enumerate(positions):
        units.setdefault(find(node), []).append(position)
    return [tuple(unit) for unit in units.values()]
