"""Encoders for the benchmark of trees: one pass over documents serves many kinds of trees."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from grasp_cli.defaults import INDEX
from grasp_cli.models.chunk_encoder import ChunkedText, ChunkEncoder, PooledWindow
from grasp_cli.models.chunk_pooling import aggregated, head_weights
from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.models.profiles import model_for
from grasp_cli.models.tree_weights import TreeWeights

THREADS = int(os.environ.get("GRASP_THREADS", "0")) or None


class EveryHead(ChunkEncoder):
    """A `ChunkEncoder` that keeps the attention of every head of the window it gave last."""

    last: Any = None  # shape (layers, heads, chunks, chunks)

    def _stack(self, layers: Any) -> Any:
        self.last = super()._stack(layers)
        return self.last


class Reading:
    """What one pass of an encoder gives for some texts, in place of a `ChunkEncoder` of these.

    Parameters
    ----------
    alpha : a number per layer and head; None counts all heads the same
    """

    def __init__(self, encoder: ChunkEncoder, texts: Sequence[ChunkedText]) -> None:
        self._encoder = encoder
        self.alpha: Any = None
        self._windows = [
            (number, window, getattr(encoder, "last", None))
            for number, window in encoder.windows(texts)
        ]

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._encoder.dimension

    def finish(self, vectors: Any) -> Any:
        """Mean states as the model's own vectors."""
        return self._encoder.finish(vectors)

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        """The windows of the texts that were read."""
        for number, window, heads in self._windows:
            if self.alpha is not None:
                relation = aggregated(heads, head_weights(self.alpha)).numpy()
                window = window._replace(relation=relation)
            yield number, window


class Alone:
    """An encoder of each chunk by itself, in place of a `ChunkEncoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dimension = encoder.dimension

    def finish(self, vectors: Any) -> Any:
        """They are finished."""
        return vectors

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        """One window of all chunks per text; each is read after the title, as passages are."""
        pieces = [
            (f"{text.title}\n" if text.title else "") + text.text[start:end]
            for text in texts
            for start, end in text.chunks
        ]
        vectors, first = self._encoder.embed(pieces), 0
        for number, text in enumerate(texts):
            count = len(text.chunks)
            own = vectors[first : first + count]
            yield number, PooledWindow(0, count, [1] * count, own, None)
            first += count


class Models:
    """The encoder of the embedded profile, in the number format of `grasp index`."""

    def __init__(self) -> None:
        self._path = find(model_for("embedded", "dense"))
        self._how: dict[str, Any] = {
            "threads": THREADS,
            "dtype": str(choose_dtype(INDEX.dtype, "cpu")).removeprefix("torch."),
        }

    def alone(self, weights: TreeWeights | None = None) -> Encoder:
        """For questions, and chunks that are read alone."""
        return Encoder(self._path, difference=weights, **self._how)

    def chunks(self) -> ChunkEncoder:
        """For chunks in their documents."""
        return ChunkEncoder(self._path, **self._how)

    def heads(self, weights: TreeWeights | None = None) -> EveryHead:
        """The same with the attention of each head."""
        return EveryHead(self._path, attention=True, weights=weights, **self._how)
