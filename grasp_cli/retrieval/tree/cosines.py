"""Cosines between the vectors of chunks as a relation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_UNIT = 1 << 20  # vectors are rounded to multiples of 1 / _UNIT
_WHOLE = 8192  # up to so many chunks the matrix is kept, beyond each row is computed when needed
_BLOCK = 1024


class Cosines:
    """Cosines of vectors, exactly symmetric: a `linkage.Relation`.

    Coordinates are rounded to whole numbers of 1 / 2^20, of which sums are exact in float64 in
    whatever order they are added: equal pairs are equal to the last bit, which ties rest on.

    Parameters
    ----------
    vectors : shape (n, d); of length one, or zeros
    whole : most chunks whose matrix is kept (n x n float32)
    """

    def __init__(self, vectors: npt.NDArray[np.float32], whole: int = _WHOLE) -> None:
        self._vectors = np.rint(vectors.astype(np.float64) * _UNIT)
        self._matrix: npt.NDArray[np.float32] | None = None
        count = len(vectors)
        if count <= whole:
            self._matrix = np.empty((count, count), np.float32)
            for start in range(0, count, _BLOCK):
                self._matrix[start : start + _BLOCK] = self._products(
                    self._vectors[start : start + _BLOCK]
                )

    def __len__(self) -> int:
        return len(self._vectors)

    def row(self, number: int) -> npt.NDArray[Any]:
        """The cosine of a chunk with each one, shape (n,); not to be changed."""
        if self._matrix is not None:
            return np.asarray(self._matrix[number])
        return np.asarray(self._products(self._vectors[number]))

    def _products(self, vectors: npt.NDArray[np.float64]) -> Any:
        return (vectors @ self._vectors.T / _UNIT**2).astype(np.float32)
