"""An encoder that reads a text as a whole and gives vectors of its chunks, each in its context."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import TREE
from grasp_cli.models.chunk_pooling import aggregated, pooled_attention, pooled_states
from grasp_cli.models.chunk_windows import Window, chunk_windows
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.tree_weights import TreeWeights
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float32]
_TITLE_SHARE = 4  # a title takes at most one part in four of a window


@dataclass(frozen=True)
class ChunkedText:
    """A text, its chunks as ascending disjoint spans, and its title, which is context only."""

    text: str
    chunks: Sequence[tuple[int, int]]
    title: str = ""


class PooledWindow(NamedTuple):
    """What one window gives for its chunks [first, last)."""

    first: int
    last: int
    tokens: list[int]  # of each chunk in this window
    vectors: Floats  # shape (chunks, d): the mean state of each one's tokens
    relation: Floats | None  # shape (chunks, chunks): aggregated attention, symmetric


class ChunkEncoder:
    """Vectors and relations of chunks from one pass of an encoder over each window.

    Parameters
    ----------
    path : the encoder's directory; its pooling must be the mean of token states
    attention : also give the attention between chunks; the model runs with eager attention then
    weights : trained weights of heads and a difference to the encoder; without them every head
        counts the same
    prompt : goes in front of every window and is in no chunk
    overlap : the share of a window that the next one repeats
    """

    def __init__(
        self,
        path: Path,
        *,
        attention: bool = False,
        weights: TreeWeights | None = None,
        prompt: str = "",
        overlap: float = TREE.window_overlap,
        threads: int | None = None,
        dtype: str = "float32",
    ) -> None:
        self.encoder = Encoder(
            path, threads=threads, dtype=dtype, eager=attention, difference=weights
        )
        self._attention = attention
        self._weights = weights
        self._prompt = prompt
        self._overlap = overlap

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.encoder.dimension

    def finish(self, vectors: Floats) -> Floats:
        """Mean states, shape (n, hidden), as the model's own vectors: projected, normalised."""
        return self.encoder.pooling.finish(vectors)

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        """The number of a text and what one of its windows gives, in the order that batches well.

        Every chunk is in a window; one without tokens has a vector of zeros.
        """
        if self.encoder.pooling.modes != ("mean",):
            raise ProcessingError(
                f"{self.encoder.name}: trees need an encoder with mean pooling, not "
                f"{' + '.join(self.encoder.pooling.modes)}; choose another --dense-model"
            )
        inputs, places = [], []
        for number, text in enumerate(texts):
            for ids, lead, window, bounds in self._cut(text):
                inputs.append(ids)
                places.append((number, lead, window, bounds))
        passes = self.encoder.attending(inputs) if self._attention else self._states(inputs)
        for place, states, attention in passes:
            number, lead, window, bounds = places[place]
            yield number, self._pooled(window, [lead + b for b in bounds], states, attention)

    def _states(self, inputs: list[list[int]]) -> Iterator[tuple[int, Any, None]]:
        for place, states in self.encoder.states(inputs):
            yield place, states, None

    def _pooled(
        self, window: Window, bounds: list[int], states: Any, attention: Any
    ) -> PooledWindow:
        relation = None
        if attention is not None:
            pooled = [pooled_attention(layer.float(), bounds) for layer in attention]
            relation = aggregated(self._stack(pooled), self._head_weights).numpy()
        return PooledWindow(
            window.first,
            window.last,
            [end - start for start, end in itertools.pairwise(bounds)],
            pooled_states(states, bounds).numpy(),
            relation,
        )

    def _stack(self, layers: list[Any]) -> Any:
        from grasp_cli.models.runtime import torch_runtime

        return torch_runtime().stack(layers)

    @cached_property
    def _head_weights(self) -> Any:
        from grasp_cli.models.chunk_pooling import head_weights
        from grasp_cli.models.runtime import torch_runtime

        if self._weights is not None:
            return head_weights(self._weights.alpha())
        return head_weights(torch_runtime().zeros(self.encoder.heads))

    def _cut(self, text: ChunkedText) -> Iterator[tuple[list[int], int, Window, list[int]]]:
        """Each window's tokens, where the text begins among them, and its chunks' bounds there."""
        if not text.chunks:
            return
        before, _ = self.encoder.special_tokens
        prefix = self._prefix(text.title)
        room = self.encoder.room - len(prefix)
        ids, bounds = tokens_of_chunks(self.encoder.tokenizer, text)
        for window in chunk_windows(bounds, room, self._overlap):
            own = [
                min(max(bounds[chunk], window.start), window.end) - window.start
                for chunk in range(window.first, window.last + 1)
            ]
            tokens = prefix + ids[window.start : window.end]
            yield tokens, len(before) + len(prefix), window, own

    def _prefix(self, title: str) -> list[int]:
        tokenizer, room = self.encoder.tokenizer, self.encoder.room
        lead = self._prompt + (f"{title}\n" if title else "")
        ids: list[int] = tokenizer.encode(lead, add_special_tokens=False).ids if lead else []
        return ids[: room // _TITLE_SHARE]


def tokens_of_chunks(tokenizer: Any, text: ChunkedText) -> tuple[list[int], list[int]]:
    """The tokens of a text, and where those of each chunk begin and the last one's end.

    White space between chunks, where it is a token, goes with the chunk before it. `tokenizer` is
    of the package tokenizers.
    """
    found = tokenizer.encode(text.text, add_special_tokens=False)
    starts = [start for start, _ in text.chunks]
    ids, counts = [], [0] * len(starts)
    for token, (start, end) in zip(found.ids, found.offsets, strict=True):
        chunk = bisect_right(starts, max(start, end - 1)) - 1
        if chunk >= 0:
            ids.append(token)
            counts[chunk] += 1
    bounds = [0]
    for count in counts:
        bounds.append(bounds[-1] + count)
    return ids, bounds
