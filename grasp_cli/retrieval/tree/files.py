"""The trees of an index on disk, in `tree/` of its directory.

    documents.jsonl   the documents that have text, one a line: id, title, text, rest
    counts.bin        uint32, one per document: its chunks, n
    chunks.bin        uint32, two per chunk: its span [start, end) in the document's text
    merges.bin        uint32, two per merge: nodes of the document's tree (`linkage.Merges`)
    strengths.bin     float32, one per merge
    vectors.bin       one vector per node, 2n - 1 of a document, in the number format of the index
    lines.npy         uint64, documents + 1: where each line of documents.jsonl begins
    starts.npy        uint64, documents + 1: how many chunks stand before each document
    nodes.npy         uint64, documents + 1: how many nodes
    order.npy         uint32: the place of each document's id among all ids, for ties
    passages.npy      uint32, one per passage of the index: its document's place here
    weights/          the trained weights, where there are some

The first six only grow while an index is built; the rest is computed from them. What stands in
documents.jsonl repeats passages.jsonl, since a node's text is a slice of the document that can
cross the passages it was cut into.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import FORMATS
from grasp_cli.retrieval.tree.building import Tree
from grasp_cli.retrieval.tree.settings import TREE, WEIGHTS

__all__ = ["GROWING", "TREE", "WEIGHTS", "GrowingFiles", "mapped", "node_starts", "tree_bytes"]

DOCUMENTS, COUNTS = f"{TREE}/documents.jsonl", f"{TREE}/counts.bin"
CHUNKS, MERGES = f"{TREE}/chunks.bin", f"{TREE}/merges.bin"
STRENGTHS, VECTORS = f"{TREE}/strengths.bin", f"{TREE}/vectors.bin"
GROWING = (DOCUMENTS, COUNTS, CHUNKS, MERGES, STRENGTHS, VECTORS)
LINES, STARTS, NODES = f"{TREE}/lines.npy", f"{TREE}/starts.npy", f"{TREE}/nodes.npy"
ORDER, PASSAGE_DOCUMENTS = f"{TREE}/order.npy", f"{TREE}/passages.npy"
_UINT, _FLOAT = np.dtype("<u4"), np.dtype("<f4")


def tree_bytes(documents: Sequence[Record], trees: Sequence[Tree]) -> dict[str, bytes]:
    """What documents and their trees append to each file, vectors excepted."""
    return {
        DOCUMENTS: b"".join(json_lines.dumps(_stored(d)) + b"\n" for d in documents),
        COUNTS: np.array([len(tree.chunks) for tree in trees], _UINT).tobytes(),
        CHUNKS: b"".join(tree.chunks.astype(_UINT).tobytes() for tree in trees),
        MERGES: b"".join(tree.pairs.astype(_UINT).tobytes() for tree in trees),
        STRENGTHS: b"".join(tree.strengths.astype(_FLOAT).tobytes() for tree in trees),
    }


def _stored(document: Record) -> Record:
    title = {"title": document["title"]} if "title" in document else {}
    rest = {key: document[key] for key in document if key not in ("id", "title", "text")}
    return {"id": document["id"], **title, "text": document["text"], "rest": rest}


def node_starts(counts: Any) -> tuple[Any, Any]:
    """How many chunks and how many nodes stand before each document, each of length n + 1."""
    chunks = np.concatenate([[0], np.cumsum(counts, dtype=np.uint64)]).astype(np.uint64)
    nodes = np.where(counts > 0, 2 * counts.astype(np.int64) - 1, 0)
    return chunks, np.concatenate([[0], np.cumsum(nodes)]).astype(np.uint64)


def mapped(path: Path, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A file of numbers, read where it is needed; `ValueError` where it is not of that size."""
    kind = np.dtype(dtype)
    if path.stat().st_size != int(np.prod(shape)) * kind.itemsize:
        raise ValueError(f"{path}: not {shape} values")
    if 0 in shape:  # an empty file cannot be mapped
        return np.empty(shape, kind)
    # A plain array of the mapped pages: slices of `np.memmap` itself are ten times as slow to make.
    return np.asarray(np.memmap(path, kind, "r", shape=shape))


class GrowingFiles:
    """The six growing files in a directory, as arrays.

    Raises `ValueError` or `OSError` where one is missing or not as long as it must be.
    """

    def __init__(self, directory: Path, dtype: str, dimension: int) -> None:
        self.directory = directory
        self.counts = np.fromfile(directory / COUNTS, _UINT)
        self.starts, self.nodes = node_starts(self.counts)
        chunks, nodes = int(self.starts[-1]), int(self.nodes[-1])
        self.chunks = mapped(directory / CHUNKS, _UINT, (chunks, 2))
        self.merges = mapped(directory / MERGES, _UINT, (nodes - chunks, 2))
        self.strengths = mapped(directory / STRENGTHS, _FLOAT, (nodes - chunks,))
        self.vectors = mapped(directory / VECTORS, FORMATS[dtype], (nodes, dimension))
