"""Beam search from the root, in all trees at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_BITS = 32  # a score and a node in one number: the node in the lower bits
_NODES = (1 << _BITS) - 1
_NOTHING = np.iinfo(np.int64).min

Whole = npt.NDArray[np.int64]


class Searches(NamedTuple):
    """Trees to be searched, each for one question; arrays have one entry per search."""

    base: Whole  # where the score of its node 0 stands in the scores of all
    chunks: Whole  # how many chunks its tree has, at least one
    merge: Whole  # where its merges begin in the merges of all


def beam_search(
    scores: npt.NDArray[np.int32],
    searches: Searches,
    merges: Any,
    width: int,
    kept: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.bool_]:
    """Which nodes are scored.

    From the root on, the children of the beam are scored, and the `width` best of them, ties to the
    lower node, are the next beam, until it has no children.

    Parameters
    ----------
    scores : of the nodes of each search, one search after the other
    merges : shape (m, 2): the children of inner nodes, tree after tree
    kept : of the shape of `scores`; the nodes that are in a beam become true
    """
    scored = np.zeros(len(scores), bool)
    base, chunks, merge = (np.asarray(part, np.int64)[:, None] for part in searches)
    beam = 2 * chunks - 2
    scored[base + beam] = True
    if kept is not None:
        kept[base + beam] = True
    while (alive := (beam >= chunks).any(axis=1)).any():
        if not alive.all():
            base, chunks, merge = base[alive], chunks[alive], merge[alive]
            beam = beam[alive]
        inner = beam >= chunks
        rows = np.where(inner, merge + beam - chunks, 0)
        children = merges[rows].astype(np.int64).reshape(len(beam), -1)
        there = np.repeat(inner, 2, axis=1)
        places = np.where(there, base + children, 0)
        scored[places[there]] = True
        beam = _best(scores[places], children, there, width)
        if kept is not None:
            kept[(base + beam)[beam >= 0]] = True
    return scored


def _best(
    scores: npt.NDArray[np.int32], nodes: Whole, there: npt.NDArray[np.bool_], width: int
) -> Whole:
    """The `width` best nodes of each row, -1 where there are fewer."""
    keys = (scores.astype(np.int64) << _BITS) + (_NODES - nodes)
    keys[~there] = _NOTHING
    if keys.shape[1] > width:
        keys = np.partition(keys, keys.shape[1] - width, axis=1)[:, -width:]
    return np.where(keys == _NOTHING, -1, _NODES - (keys & _NODES))
