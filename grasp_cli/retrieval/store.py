"""An index directory, open for reading.

    index.json       `Manifest`: format version, model and its checksum, settings, counts, content
    passages.jsonl   one passage a line: id (the document's), part, start, end, title, text, rest
    offsets.npy      uint64, n + 1: where each line begins in passages.jsonl, and where it ends
    order.npy        uint32, n: the place of each passage's id among all ids, for ties
    dense.faiss      exact FAISS index of n vectors, dot product
    bm25/            arrays and vocabulary of bm25s

Everything but index.json and BM25's vocabulary is memory-mapped or read where it is needed, so that
opening takes no longer for a larger index. `part`, `start` and `end` are null for a document that
was not cut. The id of a part is document id, `part_mark`, number; the mark is "#", or as many of
them as make all ids differ.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import MissingError, ProcessingError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import DenseIndex
from grasp_cli.retrieval.ranking import Order
from grasp_cli.retrieval.sparse import SparseIndex
from grasp_cli.retrieval.tokens import Tokenizer

MANIFEST, PASSAGES, OFFSETS, ORDER = "index.json", "passages.jsonl", "offsets.npy", "order.npy"
DENSE, SPARSE = "dense.faiss", "bm25"
FORMAT, VERSION = "grasp index", 1
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError)  # of a damaged file


@dataclass(frozen=True)
class Manifest:
    """What index.json holds besides `format` and `version`."""

    grasp: str
    profile: str
    model: dict[str, Any]  # name, sha256, dimension
    bm25: dict[str, Any]  # method, k1, b, words (how many different ones)
    tokenizer: dict[str, Any]
    passage_words: int
    index_title: bool
    part_mark: str
    documents: int
    empty: int  # documents without any text, which cannot be found
    passages: int
    content: str  # SHA-256 of the settings and of passages.jsonl

    def write(self, directory: Path) -> None:
        """Write index.json."""
        value = {"format": FORMAT, "version": VERSION, **asdict(self)}
        (directory / MANIFEST).write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """Read index.json; `MissingError` where there is no index, `ProcessingError` where this
        grasp cannot read it."""
        if not is_index(directory):
            raise MissingError(
                f"{directory}: there is no index here; make one: "
                f"grasp index DOCUMENTS.jsonl -x {directory}"
            )
        try:
            value = orjson.loads((directory / MANIFEST).read_bytes())
            version = value["version"]
            if version == VERSION:
                return cls(**{field.name: value[field.name] for field in fields(cls)})
        except _UNREADABLE as error:
            raise damaged(directory, MANIFEST) from error
        raise ProcessingError(
            f"{directory}: an index of format {version}, and this grasp reads format {VERSION}; "
            f"make it again: grasp index DOCUMENTS.jsonl -x {directory}"
        )


class Index:
    """An index on disk. Its parts are opened when they are first used."""

    def __init__(self, directory: Path, threads: int | None = None) -> None:
        self.directory = directory
        self._threads = threads

    @cached_property
    def manifest(self) -> Manifest:
        """Settings and counts."""
        return Manifest.read(self.directory)

    @cached_property
    def sparse(self) -> SparseIndex:
        """BM25."""
        tokenizer = Tokenizer.of(self.manifest.tokenizer)
        try:
            words = self.manifest.bm25["words"]
            return SparseIndex(self.directory / SPARSE, words, tokenizer, self.order)
        except _UNREADABLE as error:
            raise damaged(self.directory, SPARSE) from error

    @cached_property
    def dense(self) -> DenseIndex:
        """Vectors."""
        try:
            dense = DenseIndex(self.directory / DENSE, self.order, self._threads)
        except RuntimeError as error:  # what FAISS raises for a file that it cannot read
            raise damaged(self.directory, DENSE) from error
        if len(dense) != self.manifest.passages:
            raise damaged(self.directory, DENSE)
        return dense

    def context(self, position: int, found: Record) -> Record:
        """A passage as a record's `contexts` have it; `found` holds its score and ranks."""
        start, end = int(self._offsets[position]), int(self._offsets[position + 1])
        self._passages.seek(start)
        stored = json_lines.loads(self._passages.read(end - start), PASSAGES)
        context: Record = {"id": stored["id"]}
        if stored["part"] is not None:
            context["id"] += f"{self.manifest.part_mark}{stored['part']}"
            context |= {"doc_id": stored["id"], "start": stored["start"], "end": stored["end"]}
        if "title" in stored:
            context["title"] = stored["title"]
        context |= {"text": stored["text"], **found}
        rest = {key: value for key, value in stored["rest"].items() if key not in context}
        return {**context, **rest}

    @cached_property
    def _passages(self) -> Any:
        path = self.directory / PASSAGES
        if not path.is_file() or path.stat().st_size != int(self._offsets[-1]):
            raise damaged(self.directory, PASSAGES)
        return open(path, "rb")

    @cached_property
    def _offsets(self) -> npt.NDArray[np.uint64]:
        offsets: npt.NDArray[np.uint64] = self._array(OFFSETS, self.manifest.passages + 1)
        return offsets

    @cached_property
    def order(self) -> Order:
        """The place of each passage's id among all ids."""
        order: Order = self._array(ORDER, self.manifest.passages)
        return order

    def _array(self, name: str, length: int) -> Any:
        try:
            array = np.load(self.directory / name, mmap_mode="r" if length else None)
        except _UNREADABLE as error:
            raise damaged(self.directory, name) from error
        if array.shape != (length,):
            raise damaged(self.directory, name)
        return array


def is_index(directory: Path) -> bool:
    """Whether `directory` holds what `grasp index` wrote, of whatever version."""
    return (directory / MANIFEST).is_file()


def damaged(directory: Path, part: str) -> ProcessingError:
    """The error for an index whose part is cut short, missing or not what it should be."""
    return ProcessingError(
        f"{directory / part}: missing or damaged; make the index again: "
        f"grasp index DOCUMENTS.jsonl -x {directory}"
    )
