"""A small encoder for tests: words hashed into a few numbers, no model, no torch."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class HashingEncoder:
    """Texts with the same words in any order have the same vector; one without words has zeros."""

    name = "hashing"

    def __init__(self, dimension: int = 16) -> None:
        self.dimension = dimension
        self.batches: list[int] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), dimension), rows of length one."""
        self.batches.append(len(texts))
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = zlib.crc32(word.encode())
                vectors[row] += np.random.default_rng(seed).standard_normal(self.dimension)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
