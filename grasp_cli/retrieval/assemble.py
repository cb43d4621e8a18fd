"""The files of an index from its passages and vectors, in one pass over them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli import __version__
from grasp_cli.defaults import INDEX
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.checksums import files_of
from grasp_cli.retrieval.dense import DenseIndex, Embedder, open_vectors
from grasp_cli.retrieval.ids import PassageId, order_of, part_mark
from grasp_cli.retrieval.ranking import Order
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.sparse import SparseBuilder
from grasp_cli.retrieval.store import (
    ANN,
    BLANK,
    OFFSETS,
    ORDER,
    PASSAGES,
    SPARSE,
    VECTORS,
    Manifest,
    content_of,
)
from grasp_cli.retrieval.tree.assembling import copy_trees
from grasp_cli.retrieval.tree.files import GrowingFiles

Progress = Callable[[str], None]  # what is being done, and how far it is
_CHUNK = 4096  # passages at once
_QUESTIONS = 128  # for measuring the recall of approximate search


@dataclass(frozen=True)
class Source:
    """Passages to take over, all but those of the documents in `gone`."""

    directory: Path  # with passages.jsonl and blank.jsonl
    vectors: Any  # mapped, one row per passage
    gone: AbstractSet[str] = frozenset()
    trees: GrowingFiles | None = None

    def blank(self) -> list[str]:
        """Documents without text."""
        return [name for name in blank_ids(self.directory) if name not in self.gone]

    def chunks(self) -> Iterator[tuple[list[bytes], list[Record], Any]]:
        """Lines, what they say, and vectors of a few thousand passages at a time."""
        with open(self.directory / PASSAGES, "rb") as stream:
            start = 0
            while lines := list(islice(stream, _CHUNK)):
                stored = [json_lines.loads(line, PASSAGES) for line in lines]
                vectors = self.vectors[start : start + len(lines)]
                start += len(lines)
                kept = [row for row, s in enumerate(stored) if s["id"] not in self.gone]
                if len(kept) < len(lines):
                    lines, stored = [lines[row] for row in kept], [stored[row] for row in kept]
                    vectors = vectors[kept]
                yield lines, stored, vectors


@dataclass
class Copied:
    """What is known of the passages once they are written."""

    ids: list[PassageId] = field(default_factory=list)
    offsets: array[int] = field(default_factory=lambda: array("Q", [0]))
    documents: int = 0
    words: int = 0

    def note(self, stored: Iterable[Record], lines: Iterable[bytes]) -> None:
        """Count further passages."""
        for passage, line in zip(stored, lines, strict=True):
            if not self.ids or self.ids[-1][0] != passage["id"]:
                self.documents += 1
            self.ids.append((passage["id"], passage["part"]))
            self.offsets.append(self.offsets[-1] + len(line))


def assemble(
    directory: Path,
    sources: Sequence[Source],
    settings: Settings,
    dimension: int,
    encoder: Embedder,
    progress: Progress,
    threads: int | None = None,
) -> Manifest:
    """Write an index to the new directory `directory`; index.json comes last.

    `encoder` is used only to measure the recall of approximate search.
    """
    directory.mkdir()
    copied = _copy(directory, sources, settings, progress)
    blank = [name for source in sources for name in source.blank()]
    (directory / BLANK).write_bytes(b"".join(json_lines.dumps(name) + b"\n" for name in blank))
    mark = part_mark(copied.ids)
    order = order_of(copied.ids, mark)
    np.save(directory / OFFSETS, np.array(copied.offsets, np.uint64))
    np.save(directory / ORDER, order)
    ann = None
    if settings.ann != "none":
        progress(f"building the approximate index of {len(copied.ids)} vectors")
        vectors = open_vectors(
            directory / VECTORS, settings.dense_dtype, dimension, len(copied.ids)
        )
        ann = _approximate(directory, copied, vectors, order, settings.ann, encoder, threads)
    tree = None
    if settings.tree is not None:
        progress("copying trees")
        planted = [(source.trees, source.gone) for source in sources if source.trees]
        made = copy_trees(directory, planted, [name for name, _ in copied.ids])
        tree = {**made, **settings.tree.as_json()}
    progress("checksums")
    files = files_of(directory)
    manifest = Manifest(
        grasp=__version__,
        profile=settings.profile,
        model={
            "name": settings.model,
            "sha256": settings.sha256,
            "dimension": dimension,
            "dtype": settings.dtype,
        },
        vectors={"dtype": settings.dense_dtype},
        ann=ann,
        bm25={
            "method": settings.bm25,
            "k1": INDEX.bm25_k1,
            "b": INDEX.bm25_b,
            "words": copied.words,
        },
        tokenizer=settings.tokenizer.settings(),
        passage_words=settings.passage_words,
        passage_overlap=settings.passage_overlap,
        index_title=settings.index_title,
        part_mark=mark,
        documents=copied.documents + len(blank),
        empty=len(blank),
        passages=len(copied.ids),
        content=content_of(settings, files),
        files=files,
        tree=tree,
    )
    manifest.write(directory)
    return manifest


def blank_ids(directory: Path) -> list[str]:
    """The ids in blank.jsonl."""
    with open(directory / BLANK, "rb") as stream:
        return [json_lines.loads(line, BLANK) for line in stream]


def document_ids(directory: Path) -> set[str]:
    """The ids of all documents in passages.jsonl and blank.jsonl."""
    with open(directory / PASSAGES, "rb") as stream:
        found = {json_lines.loads(line, PASSAGES)["id"] for line in stream}
    return found.union(blank_ids(directory))


def indexed_text(title: str | None, text: str) -> str:
    """What is searched of a passage; `title` is None where titles are not."""
    return f"{title}\n{text}" if title else text


def _copy(
    directory: Path, sources: Sequence[Source], settings: Settings, progress: Progress
) -> Copied:
    """Write passages, vectors and BM25."""
    copied = Copied()
    sparse = SparseBuilder(directory / SPARSE, settings.tokenizer, settings.bm25)
    try:
        with (
            open(directory / PASSAGES, "wb") as passages,
            open(directory / VECTORS, "wb") as vectors,
        ):
            for lines, stored, rows in (chunk for source in sources for chunk in source.chunks()):
                copied.note(stored, lines)
                passages.writelines(lines)
                vectors.write(np.ascontiguousarray(rows).tobytes())
                titles = (s.get("title") if settings.index_title else None for s in stored)
                sparse.add(
                    indexed_text(title, s["text"]) for title, s in zip(titles, stored, strict=True)
                )
                progress(f"{len(copied.ids)} passages counted for BM25")
        progress(f"sorting {sparse.words} words")
        sparse.save()
    finally:
        sparse.close()
    copied.words = sparse.words
    return copied


def _approximate(
    directory: Path,
    copied: Copied,
    vectors: Any,
    order: Order,
    kind: str,
    encoder: Embedder,
    threads: int | None,
) -> dict[str, Any]:
    """Write the approximate index; its parameters and measured recall.

    The same search, exact, where there are too few passages to learn from.
    """
    from grasp_cli.retrieval.ann import LEAST, RECALL_DEPTH, AnnIndex, build_ann, measured_recall

    if len(vectors) < LEAST[kind]:
        return {"asked": kind, "exact_below": LEAST[kind]}
    parameters = build_ann(kind, vectors, directory / ANN, threads)
    searched = DenseIndex(vectors, order, threads, AnnIndex(directory / ANN, parameters))
    exact = DenseIndex(vectors, order, threads)
    questions = _first_sentences(directory, copied.offsets)
    value = measured_recall(searched, exact, encoder.embed(questions))
    recall = {"k": RECALL_DEPTH, "questions": len(questions), "value": round(value, 4)}
    return {"asked": kind, **parameters, "recall": recall}


def _first_sentences(directory: Path, offsets: array[int]) -> list[str]:
    """In place of questions: the first sentences of passages from all over the corpus."""
    from grasp_cli.text import segment

    count, texts = len(offsets) - 1, []
    with open(directory / PASSAGES, "rb") as stream:
        for row in np.linspace(0, count - 1, min(count, _QUESTIONS), dtype=int):
            stream.seek(offsets[row])
            texts.append(json_lines.loads(stream.readline(), PASSAGES)["text"])
    firsts = [text[s.start : s.end] for text in texts for s in segment(text)[:1]]
    return firsts or texts
