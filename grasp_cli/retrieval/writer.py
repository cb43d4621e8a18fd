"""Documents to an index: `build` a new one, or add to one and take documents out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from grasp_cli.defaults import INDEX
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.assemble import (
    Progress,
    Source,
    assemble,
    document_ids,
    indexed_text,
)
from grasp_cli.retrieval.blocks import Blocks, documents_of
from grasp_cli.retrieval.dense import Embedder, Vectors, open_vectors
from grasp_cli.retrieval.passages import Passage, cut
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.store import VECTORS, Index, Manifest
from grasp_cli.retrieval.tree.building import TreeBuilder
from grasp_cli.retrieval.tree.files import GrowingFiles
from grasp_cli.retrieval.workplace import NEW, workplace

__all__ = ["Built", "Settings", "build"]


@dataclass(frozen=True)
class Built:
    """What a build has done."""

    manifest: Manifest
    replaced: int = 0  # documents of the old index that came again
    deleted: int = 0
    unknown: int = 0  # ids to delete that the old index does not have
    resumed: int = 0  # passages that an interrupted build had finished


@dataclass(frozen=True)
class Block:
    """Passages of whole documents, and the documents among them that have no text."""

    passages: list[Passage] = field(default_factory=list)
    blank: list[str] = field(default_factory=list)


def build(
    documents: Iterable[Record],
    directory: Path,
    settings: Settings,
    encoder: Embedder,
    progress: Progress = lambda text: None,
    *,
    base: Index | None = None,
    delete: AbstractSet[str] = frozenset(),
    resume: bool = False,
    threads: int | None = None,
    trees: TreeBuilder | None = None,
) -> Built:
    """Write the index of `documents` to `directory`; what was there stays until it is complete.

    Parameters
    ----------
    documents : ids are distinct
    base : the index at `directory`, to add the documents to; they replace those of equal id
    delete : ids of documents to take out of `base`, before anything is added
    resume : go on from the last finished block of an interrupted build of the same
    threads : of FAISS, for approximate search
    trees : makes the trees, where `settings.tree` asks for them

    Raises
    ------
    UsageError
        `directory` holds something else; the settings are not those of `base` or of the build to
        resume.
    DataError
        The documents are not those that the build to resume had read.
    ProcessingError
        Another process builds it, the disk is full, `base` is damaged.
    """
    if base is not None and base.manifest.settings != settings:
        raise UsageError(f"{directory}: an index keeps its settings when documents are added")
    with workplace(directory) as building:
        if base is not None:
            _check_base(directory, base)
        dimension = base.manifest.model["dimension"] if base else encoder.dimension
        job = _job(settings, base, delete)
        planted = settings.tree is not None
        blocks = Blocks(building, job, settings.dense_dtype, resume, trees=planted)
        try:
            for block in _blocks(blocks.unread(documents), settings):
                vectors = _embed(block.passages, settings, encoder, dimension)
                grown = list(trees.build(documents_of(block.passages))) if trees else []
                blocks.add(block.passages, vectors, block.blank, grown)
                progress(f"{blocks.documents} documents, {blocks.passages} passages encoded")
        finally:
            blocks.close()
        if trees and planted:
            trees.save_weights(building)
        added = Source(
            building,
            open_vectors(building / VECTORS, settings.dense_dtype, dimension, blocks.passages),
            trees=_trees(building, settings, dimension),
        )
        old, sources, gone = set[str](), [added], set[str]()
        if base is not None:
            old, new = document_ids(base.directory), document_ids(building)
            gone = old & (new | delete)
            before = _trees(base.directory, settings, dimension)
            sources.insert(0, Source(base.directory, base.vectors, gone, before))
        manifest = assemble(
            building / NEW, sources, settings, dimension, encoder, progress, threads
        )
    deleted = len(old & delete)
    return Built(manifest, len(gone) - deleted, deleted, len(delete) - deleted, blocks.resumed)


def _check_base(directory: Path, base: Index) -> None:
    """Before any work: `base` is still the index at `directory`, and whole by its sizes."""
    if Manifest.read(directory).content != base.manifest.content:
        raise ProcessingError(f"{directory}: another process has just changed this index")
    for name in base.manifest.files:
        base.part(name)


def _trees(directory: Path, settings: Settings, dimension: int) -> GrowingFiles | None:
    """The trees in an index or a building, where there are any."""
    if settings.tree is None:
        return None
    return GrowingFiles(directory, settings.dense_dtype, dimension)


def _job(settings: Settings, base: Index | None, delete: AbstractSet[str]) -> Record:
    ids = hashlib.sha256(json_lines.dumps(sorted(delete))).hexdigest()
    return {
        **settings.as_json(),
        "append to": base.manifest.content if base else None,
        "delete": ids if delete else None,
    }


def _blocks(documents: Iterable[Record], settings: Settings) -> Iterator[Block]:
    """Blocks of at least a window of passages, the last one aside; documents are never parted."""
    block, read = Block(), 0
    for document in documents:
        read += 1
        title = document.get("title") if settings.index_title else None
        if indexed_text(title, document["text"]).strip():
            found = cut(document, settings.passage_words, settings.passage_overlap)
            block.passages.extend(found)
        else:
            block.blank.append(document["id"])
        if len(block.passages) >= INDEX.window:
            yield block
            block, read = Block(), 0
    if read:
        yield block


def _embed(
    passages: list[Passage], settings: Settings, encoder: Embedder, dimension: int
) -> Vectors:
    """Vectors of a block, a window at a time; texts of like length share a batch there."""
    parts = [np.empty((0, dimension), np.float32)]
    for start in range(0, len(passages), INDEX.window):
        window = passages[start : start + INDEX.window]
        titles = [p.document.get("title") if settings.index_title else None for p in window]
        texts = [indexed_text(title, p.text) for title, p in zip(titles, window, strict=True)]
        parts.append(encoder.embed(texts))
    return np.concatenate(parts)
