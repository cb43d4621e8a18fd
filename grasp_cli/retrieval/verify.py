"""Whether every part of an index is what it was when it was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.retrieval.checksums import checksum
from grasp_cli.retrieval.ids import order_of
from grasp_cli.retrieval.store import MANIFEST, PASSAGES, Index, content_of
from grasp_cli.retrieval.tree.verify import tree_contradictions

_CHUNK = 1 << 14


def verify(directory: Path) -> tuple[int, int]:
    """How many files and bytes were checked, all of them whole.

    Reads every byte: sizes and SHA-256 as index.json has them, and its own content hash; then what
    the parts say of each other. Raises `ProcessingError` that names every damaged part.
    """
    index = Index(directory)
    files = index.manifest.files
    problems = [name for name, known in files.items() if not _whole(directory / name, known)]
    if not problems:
        problems = list(_contradictions(index))
    if problems:
        raise ProcessingError(
            f"{directory}: damaged: {', '.join(problems)}; make the index again: "
            f"grasp index DOCUMENTS.jsonl -x {directory}"
        )
    return len(files) + 1, sum(known["bytes"] for known in files.values())


def _whole(path: Path, known: dict[str, Any]) -> bool:
    try:
        return checksum(path) == known
    except OSError:
        return False


def _contradictions(index: Index) -> Iterator[str]:
    """Parts that do not fit the others, although each is as it was written."""
    manifest = index.manifest
    if content_of(manifest.settings, manifest.files) != manifest.content:
        yield MANIFEST
    stored = (index.stored(position) for position in range(manifest.passages))
    ids = [(passage["id"], passage["part"]) for passage in stored]
    if len(set(ids)) < len(ids):
        yield PASSAGES
    if not np.array_equal(order_of(ids, manifest.part_mark), index.order):
        yield "order.npy"
    for start in range(0, manifest.passages, _CHUNK):
        if not np.isfinite(index.vectors[start : start + _CHUNK]).all():
            yield "vectors.bin"
            break
    _ = index.sparse, index.dense
    if manifest.tree:
        yield from tree_contradictions(index.trees)
