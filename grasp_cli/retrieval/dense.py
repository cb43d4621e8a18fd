"""Exact search by dot product in FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.retrieval.ranking import NOTHING, RESOLUTION, Order, Ranking, ranked

Vectors = npt.NDArray[np.float32]  # shape (number, dimension)

_BLOCK = 1 << 16  # vectors held at once while the index is made
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


class DenseBuilder:
    """Takes vectors in order, keeps them on disk, and makes the FAISS index of all of them."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._path = path
        self._dimension = dimension
        self._raw = path.with_suffix(".vectors")
        self._stream = open(self._raw, "wb")  # noqa: SIM115 - `save` and `close` do

    def add(self, vectors: Vectors) -> None:
        """Append rows."""
        self._stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())

    def save(self) -> None:
        """Write the index, block by block from disk, and remove the plain vectors."""
        import faiss

        self._stream.close()
        index = faiss.IndexFlatIP(self._dimension)
        with open(self._raw, "rb") as stream:
            while block := stream.read(_BLOCK * self._dimension * 4):
                index.add(np.frombuffer(block, np.float32).reshape(-1, self._dimension))
        try:
            faiss.write_index(index, str(self._path))
        except RuntimeError as error:
            raise ProcessingError(f"{self._path}: cannot be written: {error}") from error
        self._raw.unlink()

    def close(self) -> None:
        """Let go of the file; for a build that is given up."""
        self._stream.close()


class DenseIndex:
    """A FAISS index on disk, memory-mapped on first use."""

    def __init__(self, path: Path, order: Order, threads: int | None = None) -> None:
        import faiss

        if threads:
            faiss.omp_set_num_threads(threads)
        self._index = faiss.read_index(str(path), _flags(faiss))
        self._order = order

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, questions: Vectors, depth: int) -> list[Ranking]:
        """The `depth` passages of largest dot product with each question, all if there are fewer.

        FAISS's own sums depend in their last bits on how many questions it is given at once, so
        it only proposes; the proposed are scored again, each alone, in float64.
        """
        count = self._index.ntotal
        if count == 0 or len(questions) == 0:
            return [NOTHING] * len(questions)
        scores, positions = self._index.search(questions, min(count, depth + _MARGIN))
        return [
            self._settled(question, depth, scores[row], positions[row])
            for row, question in enumerate(questions)
        ]

    def _settled(
        self, question: Vectors, depth: int, scores: Vectors, positions: npt.NDArray[np.int64]
    ) -> Ranking:
        """Rank what was proposed, after asking for more while ties may go on beyond it."""
        count = self._index.ntotal
        while len(positions) < count and scores[-1] > scores[depth - 1] - 2 * RESOLUTION:
            more = min(count, 2 * len(positions))
            found = self._index.search(question[None], more)
            scores, positions = found[0][0], found[1][0]
        vectors = self._index.reconstruct_batch(positions)
        exact = vectors.astype(np.float64) @ question.astype(np.float64)
        return ranked(positions, exact, self._order, depth)


def _flags(faiss: Any) -> int:
    """Memory mapping of flat vectors, where this FAISS has it (1.11 and later)."""
    return int(getattr(faiss, "IO_FLAG_MMAP_IFC", 0))
