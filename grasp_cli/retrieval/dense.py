"""Exact search by dot product with FAISS, over vectors in a memory-mapped file.

The file is nothing but the vectors one after the other, float32 or float16, little-endian. There
is no second copy in a FAISS index: FAISS searches the mapped pages themselves, and a float16 file
in blocks that are widened on the way. An approximate index (`ann`) only proposes what is scored
again here from the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grasp_cli.retrieval.ranking import NOTHING, RESOLUTION, Order, Positions, Ranking, ranked

Vectors = npt.NDArray[np.float32]  # shape (number, dimension)
Proposal = tuple[npt.NDArray[np.float32], Positions]  # scores and positions, (questions, count)

FORMATS: dict[str, Any] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}
_BLOCK = 1 << 16  # vectors widened at once
_MARGIN = 16


class Embedder(Protocol):
    """What makes vectors of texts."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """One row per text."""
        ...


class Proposer(Protocol):
    """An approximate index."""

    def propose(self, questions: Vectors, count: int) -> Proposal:
        """About the `count` nearest passages of each question; position -1 where there is none."""
        ...


def open_vectors(path: Path, dtype: str, dimension: int, count: int) -> Any:
    """The mapped file at `path`, shape (count, dimension); `ValueError` where it is not as long."""
    kind = FORMATS[dtype]
    if path.stat().st_size != count * dimension * kind.itemsize:
        raise ValueError(f"{path}: not {count} vectors")
    if count == 0:  # an empty file cannot be mapped
        return np.empty((0, dimension), kind)
    return np.memmap(path, kind, "r", shape=(count, dimension))


class DenseIndex:
    """Search in vectors, exact or in what `proposer` proposes.

    Parameters
    ----------
    vectors : shape (passages, dimension), as `open_vectors` gives them
    order : for ties
    threads : of FAISS; None leaves them as they are
    """

    def __init__(
        self,
        vectors: Any,
        order: Order,
        threads: int | None = None,
        proposer: Proposer | None = None,
    ) -> None:
        self._vectors = vectors
        self._order = order
        self._threads = threads
        self._proposer = proposer

    def __len__(self) -> int:
        return len(self._vectors)

    def search(self, questions: Vectors, depth: int) -> list[Ranking]:
        """The `depth` passages of largest dot product with each question, all if there are fewer.

        FAISS's own sums depend in their last bits on how many questions it is given at once, so
        it only proposes; the proposed are scored again, each alone, in float64.
        """
        if len(self) == 0 or len(questions) == 0:
            return [NOTHING] * len(questions)
        count = min(len(self), depth + _MARGIN)
        if self._proposer is not None:
            _, positions = self._proposer.propose(questions, count)
            return [
                self._scored(question, depth, found[found >= 0])
                for question, found in zip(questions, positions, strict=True)
            ]
        scores, positions = self._nearest(questions, count)
        return [
            self._settled(question, depth, scores[row], positions[row])
            for row, question in enumerate(questions)
        ]

    def _settled(
        self, question: Vectors, depth: int, scores: Vectors, positions: Positions
    ) -> Ranking:
        """Rank what was proposed, after asking for more while ties may go on beyond it."""
        while len(positions) < len(self) and scores[-1] > scores[depth - 1] - 2 * RESOLUTION:
            found = self._nearest(question[None], min(len(self), 2 * len(positions)))
            scores, positions = found[0][0], found[1][0]
        return self._scored(question, depth, positions)

    def _scored(self, question: Vectors, depth: int, positions: Positions) -> Ranking:
        vectors = self._vectors[positions].astype(np.float64)
        return ranked(positions, vectors @ question.astype(np.float64), self._order, depth)

    def _nearest(self, questions: Vectors, count: int) -> Proposal:
        """Scores and positions of the `count` best, best first."""
        import faiss

        if self._threads:
            faiss.omp_set_num_threads(self._threads)
        product = faiss.METRIC_INNER_PRODUCT
        if self._vectors.dtype == np.float32:
            scores, positions = faiss.knn(questions, self._vectors, count, product)
            return scores, positions
        parts = []
        for start in range(0, len(self), _BLOCK):
            block = self._vectors[start : start + _BLOCK].astype(np.float32)
            scores, positions = faiss.knn(questions, block, min(count, len(block)), product)
            parts.append((scores, positions + start))
        scores, positions = (
            np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True)
        )
        best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(scores, best, 1), np.take_along_axis(positions, best, 1)
