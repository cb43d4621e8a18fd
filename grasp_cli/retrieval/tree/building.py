"""Documents to trees: chunks, their vectors and relations, merges, vectors of all nodes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from grasp_cli.models.chunk_encoder import ChunkedText, PooledWindow
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.tree.band import Band
from grasp_cli.retrieval.tree.chunks import chunk
from grasp_cli.retrieval.tree.cosines import Cosines
from grasp_cli.retrieval.tree.linkage import Relation, single_linkage
from grasp_cli.retrieval.tree.nodes import progressive
from grasp_cli.retrieval.tree.settings import WEIGHTS, TreeSettings

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tree:
    """A document's tree of n chunks; a document without a sentence has none of anything."""

    chunks: npt.NDArray[np.uint32]  # shape (n, 2): spans of the text
    pairs: npt.NDArray[np.uint32]  # shape (n - 1, 2), as `linkage.Merges`
    strengths: npt.NDArray[np.float32]  # shape (n - 1,)
    vectors: Floats  # shape (2n - 1, d): of all nodes, of length one


class WindowEncoder(Protocol):
    """What reads texts in windows: `models.chunk_encoder.ChunkEncoder`."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def windows(self, texts: Sequence[ChunkedText], /) -> Iterator[tuple[int, PooledWindow]]:
        """The number of a text and what one of its windows gives."""
        ...

    def finish(self, vectors: Floats, /) -> Floats:
        """Mean states as the model's own vectors."""
        ...


class TreeBuilder:
    """Makes trees of documents.

    Parameters
    ----------
    settings : how they are made
    titles : let the encoder read a document's title in front of each window
    weights : a directory of trained weights, which the index keeps a copy of
    """

    def __init__(
        self,
        settings: TreeSettings,
        encoder: WindowEncoder,
        *,
        titles: bool,
        weights: Path | None = None,
    ) -> None:
        self._settings = settings
        self._encoder = encoder
        self._titles = titles
        self._weights = weights

    @property
    def dimension(self) -> int:
        """The length of a node's vector."""
        return self._encoder.dimension

    def save_weights(self, directory: Path) -> None:
        """Copy the trained weights, if any, to where the tree files of `directory` are."""
        if self._weights is not None:
            shutil.copytree(self._weights, directory / WEIGHTS, dirs_exist_ok=True)

    def build(self, documents: Sequence[Record]) -> Iterator[Tree]:
        """One tree per document, in order."""
        texts = [self._chunked(document) for document in documents]
        windows: list[list[PooledWindow]] = [[] for _ in texts]
        for number, window in self._encoder.windows(texts):
            windows[number].append(window)
        for number, text in enumerate(texts):
            yield self._tree(text, windows[number])
            windows[number] = []

    def _chunked(self, document: Record) -> ChunkedText:
        title = document.get("title") if self._titles else None
        text = document["text"]
        return ChunkedText(text, chunk(text, self._settings.chunk_sentences), title or "")

    def _tree(self, text: ChunkedText, windows: list[PooledWindow]) -> Tree:
        count = len(text.chunks)
        if count == 0:
            none = np.empty((0, 2), np.uint32)
            nothing = np.empty((0, self.dimension), np.float32)
            return Tree(none, none, np.empty(0, np.float32), nothing)
        windows.sort(key=lambda window: window.first)  # so that sums do not depend on batches
        vectors = self._encoder.finish(_averaged(count, windows))
        merges = single_linkage(self._relation(vectors, windows))
        nodes = progressive(vectors, merges.pairs, self._settings.merge)
        chunks = np.array(text.chunks, np.uint32)
        return Tree(chunks, merges.pairs, merges.strengths, unit(nodes))

    def _relation(self, vectors: Floats, windows: list[PooledWindow]) -> Relation:
        if self._settings.kind == "embedding":
            return Cosines(unit(vectors))
        band = Band(len(vectors), [(window.first, window.last) for window in windows])
        for window in windows:
            if window.relation is None:
                raise ValueError("an encoder of trees by attention gave no attention")
            band.add(window.first, window.relation)
        return band


def unit(vectors: Floats) -> Floats:
    """Rows of length one; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(vectors / lengths, np.float32)


def _averaged(count: int, windows: list[PooledWindow]) -> Floats:
    """The mean vector of each chunk over the windows that hold it, weighted by its tokens there."""
    width = windows[0].vectors.shape[1]
    total, weight = np.zeros((count, width), np.float32), np.zeros((count, 1), np.float32)
    for window in windows:
        tokens = np.array(window.tokens, np.float32)[:, None]
        total[window.first : window.last] += window.vectors * tokens
        weight[window.first : window.last] += tokens
    return np.asarray(total / np.maximum(weight, 1), np.float32)
