"""Approximate nearest neighbours for large corpora: FAISS HNSW and IVF-PQ.

Either proposes candidates that `dense` scores again from the stored vectors, so that what is lost
is only what was not proposed. How much that is, is measured when the index is built.

`hnsw`: a graph over float16 copies; 32 links a node, as in Malkov and Yashunin (2018).
`ivfpq`: 4 √n lists, product quantisation of a quarter of the dimensions in bytes (Jégou et al.,
2011); a sixteenth of the lists is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.retrieval.dense import DenseIndex, Proposal, Vectors

KINDS = ("hnsw", "ivfpq")
RECALL_DEPTH = 10
_BLOCK = 1 << 14  # vectors added at once
_LINKS, _EFFORT = 32, 128  # HNSW: links per node, candidates looked at while building
_CODES = 256  # product quantisation: values of a byte
_PER_CENTROID = 39  # FAISS's least number of training vectors per centroid
LEAST = {"hnsw": 1, "ivfpq": _CODES * _PER_CENTROID}  # passages below which search stays exact


def build_ann(kind: str, vectors: Any, path: Path, threads: int | None = None) -> dict[str, Any]:
    """Write the index of `vectors` to `path`; returns its parameters.

    Parameters
    ----------
    kind : one of KINDS
    vectors : shape (passages, dimension), float32 or float16, mapped; at least LEAST[kind]
    """
    faiss = _faiss()
    if threads:
        faiss.omp_set_num_threads(threads)
    index, parameters = _NEW[kind](faiss, vectors)
    for start in range(0, len(vectors), _BLOCK):
        index.add(vectors[start : start + _BLOCK].astype(np.float32))
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:
        raise ProcessingError(f"{path}: cannot be written: {error}") from error
    return {"kind": kind, **parameters}


class AnnIndex:
    """What `build_ann` wrote, mapped into memory where this FAISS can (1.11 and later)."""

    def __init__(self, path: Path, parameters: dict[str, Any]) -> None:
        faiss = _faiss()
        self._kind = parameters["kind"]
        self._parameters = parameters
        self._index = faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", 0))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def propose(self, questions: Vectors, count: int) -> Proposal:
        """About the `count` nearest passages of each question, position -1 where there are fewer.

        Product quantisation orders coarsely, so four times as many are taken.
        """
        faiss = _faiss()
        if self._kind == "hnsw":
            search = faiss.SearchParametersHNSW(efSearch=max(_EFFORT, 2 * count))
        else:
            search = faiss.SearchParametersIVF(nprobe=self._parameters["probes"])
            count = min(len(self), 4 * count)
        scores, positions = self._index.search(questions, count, params=search)
        return scores, positions


def measured_recall(approximate: DenseIndex, exact: DenseIndex, questions: Vectors) -> float:
    """The share of the RECALL_DEPTH truly nearest passages that approximate search finds."""
    found = approximate.search(questions, RECALL_DEPTH)
    wanted = exact.search(questions, RECALL_DEPTH)
    shares = [
        len(set(a.positions.tolist()) & set(b.positions.tolist())) / len(b)
        for a, b in zip(found, wanted, strict=True)
    ]
    return float(np.mean(shares))


def _faiss() -> Any:
    import faiss

    return faiss


def _hnsw(faiss: Any, vectors: Any) -> tuple[Any, dict[str, Any]]:
    kind, product = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexHNSWSQ(vectors.shape[1], kind, _LINKS, product)
    index.hnsw.efConstruction = _EFFORT
    index.train(vectors[:1].astype(np.float32))  # nothing to learn, but FAISS wants the call
    return index, {"links": _LINKS}


def _ivfpq(faiss: Any, vectors: Any) -> tuple[Any, dict[str, Any]]:
    count, dimension = vectors.shape
    lists = max(1, min(int(4 * math.sqrt(count)), count // _PER_CENTROID))
    size = max(size for size in range(1, max(1, dimension // 4) + 1) if dimension % size == 0)
    coarse = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFPQ(coarse, dimension, lists, size, 8, faiss.METRIC_INNER_PRODUCT)
    rows = np.linspace(0, count - 1, min(count, _sample(lists)), dtype=np.int64)
    index.train(vectors[rows].astype(np.float32))
    probes = max(8, lists // 16)
    return index, {"lists": lists, "bytes": size, "probes": min(lists, probes)}


def _sample(lists: int) -> int:
    """How many vectors are learnt from."""
    return 64 * max(lists, _CODES)


_NEW: dict[str, Callable[[Any, Any], tuple[Any, dict[str, Any]]]] = {
    "hnsw": _hnsw,
    "ivfpq": _ivfpq,
}
