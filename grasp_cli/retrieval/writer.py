"""Documents to the files of an index, a window of passages at a time."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from grasp_cli import __version__
from grasp_cli.defaults import INDEX
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import DenseBuilder, Embedder
from grasp_cli.retrieval.passages import Passage, cut
from grasp_cli.retrieval.ranking import Order
from grasp_cli.retrieval.replace import replaced
from grasp_cli.retrieval.sparse import SparseBuilder
from grasp_cli.retrieval.store import (
    DENSE,
    OFFSETS,
    ORDER,
    PASSAGES,
    SPARSE,
    Manifest,
)
from grasp_cli.retrieval.tokens import Tokenizer


@dataclass(frozen=True)
class Settings:
    """What decides the content of an index, besides the documents."""

    model: str
    sha256: str  # of the model's weights
    profile: str = "embedded"
    bm25: str = "lucene"
    passage_words: int = INDEX.passage_words
    index_title: bool = INDEX.index_title
    tokenizer: Tokenizer = field(default_factory=Tokenizer)


Progress = Callable[[int, int], None]  # documents and passages done so far


def build(
    documents: Iterable[Record],
    directory: Path,
    settings: Settings,
    encoder: Embedder,
    progress: Progress = lambda documents, passages: None,
) -> Manifest:
    """Write the index of `documents` to `directory`; what was there stays until it is complete.

    Raises `UsageError` where `directory` holds something else, `ProcessingError` where another
    process builds it or the disk is full.
    """
    with replaced(directory) as building:
        writer = IndexWriter(building, settings, encoder)
        try:
            passages = writer.passages_of(documents)
            while window := list(islice(passages, INDEX.window)):
                writer.add(window)
                progress(writer.documents, len(writer))
            return writer.finish()
        finally:
            writer.close()


class IndexWriter:
    """Takes passages window by window; text and vectors go to disk at once."""

    def __init__(self, directory: Path, settings: Settings, encoder: Embedder) -> None:
        self._directory = directory
        self._settings = settings
        self._encoder = encoder
        self.documents = 0
        self._empty = 0
        self._ids: list[tuple[str, int | None]] = []  # document and part of each passage
        self._offsets = array("Q", [0])
        self._content = hashlib.sha256(json_lines.dumps(asdict(settings)))
        self._stream = open(directory / PASSAGES, "wb")  # noqa: SIM115 - `close` does
        self._sparse = SparseBuilder(settings.tokenizer, settings.bm25)
        self._dense = DenseBuilder(directory / DENSE, encoder.dimension)

    def __len__(self) -> int:
        return len(self._ids)

    def passages_of(self, documents: Iterable[Record]) -> Iterator[Passage]:
        """Passages of the documents, which are counted on the way; blank ones are left out."""
        for document in documents:
            self.documents += 1
            if self._indexed(Passage(document, document["text"])).strip():
                yield from cut(document, self._settings.passage_words)
            else:
                self._empty += 1

    def add(self, passages: Sequence[Passage]) -> None:
        """Append passages to all parts of the index."""
        texts = [self._indexed(passage) for passage in passages]
        self._dense.add(self._encoder.embed(texts))
        self._sparse.add(texts)
        for passage in passages:
            line = json_lines.dumps(_stored(passage)) + b"\n"
            self._stream.write(line)
            self._content.update(line)
            self._offsets.append(self._offsets[-1] + len(line))
            self._ids.append((passage.document["id"], passage.part))

    def finish(self) -> Manifest:
        """Complete all parts; the manifest comes last."""
        self.close()
        settings, mark = self._settings, part_mark(self._ids)
        np.save(self._directory / OFFSETS, np.array(self._offsets, np.uint64))
        np.save(self._directory / ORDER, _order(self._ids, mark))
        self._dense.save()
        self._sparse.save(self._directory / SPARSE)
        manifest = Manifest(
            grasp=__version__,
            profile=settings.profile,
            model={
                "name": settings.model,
                "sha256": settings.sha256,
                "dimension": self._encoder.dimension,
            },
            bm25={
                "method": settings.bm25,
                "k1": INDEX.bm25_k1,
                "b": INDEX.bm25_b,
                "words": self._sparse.words,
            },
            tokenizer=settings.tokenizer.settings(),
            passage_words=settings.passage_words,
            index_title=settings.index_title,
            part_mark=mark,
            documents=self.documents,
            empty=self._empty,
            passages=len(self._ids),
            content=self._content.hexdigest(),
        )
        manifest.write(self._directory)
        return manifest

    def close(self) -> None:
        """Let go of the files."""
        self._stream.close()
        self._dense.close()

    def _indexed(self, passage: Passage) -> str:
        title = passage.document.get("title") if self._settings.index_title else None
        return f"{title}\n{passage.text}" if title else passage.text


def part_mark(ids: Sequence[tuple[str, int | None]]) -> str:
    """The shortest run of "#" between document and number that gives no id twice."""
    parts: dict[str, int] = {}
    for document, part in ids:
        if part is not None:
            parts[document] = part + 1
    mark = "#"
    while any(part is None and _is_part(document, mark, parts) for document, part in ids):
        mark += "#"
    return mark


def _is_part(identifier: str, mark: str, parts: dict[str, int]) -> bool:
    document, found, number = identifier.rpartition(mark)
    if not found or not re.fullmatch("0|[1-9][0-9]{0,8}", number):
        return False
    return int(number) < parts.get(document, 0)


def _order(ids: Sequence[tuple[str, int | None]], mark: str) -> Order:
    names = [name if part is None else f"{name}{mark}{part}" for name, part in ids]
    order = np.empty(len(names), np.uint32)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return order


def _stored(passage: Passage) -> Record:
    document, cut_out = passage.document, passage.part is not None
    title = {"title": document["title"]} if "title" in document else {}
    return {
        "id": document["id"],
        "part": passage.part,
        "start": passage.start if cut_out else None,
        "end": passage.end if cut_out else None,
        **title,
        "text": passage.text,
        "rest": {key: document[key] for key in document if key not in ("id", "title", "text")},
    }
