"""An index directory, open for reading.

    index.json       `Manifest`: format version, settings, counts, content, size and SHA-256 of each
                     other file
    passages.jsonl   one passage a line: id (the document's), part, start, end, title, text, rest
    blank.jsonl      the ids of documents without text, one a line; they cannot be found
    offsets.npy      uint64, n + 1: where each line begins in passages.jsonl, and where it ends
    order.npy        uint32, n: the place of each passage's id among all ids, for ties
    vectors.bin      n vectors one after the other, float32 or float16, little-endian
    ann.faiss        approximate FAISS index of them, with --ann
    bm25/            words, postings and scores (`sparse`)
    tree/            trees over the chunks of documents, with --with-tree (`tree.files`)

Everything but index.json is memory-mapped or read where it is needed, so that opening takes no
longer for a larger index; a file of another size than index.json says is refused when it is opened.
`part`, `start` and `end` are null for a document that was not cut. The id of a part is document id,
`part_mark`, number; the mark is "#", or as many of them as make all ids differ.

`content` is the SHA-256 of the settings, passages.jsonl, blank.jsonl and vectors.bin, and of the
same of trees where there are some: of all that the rest is computed from. The same documents give
the same content, whether a build was interrupted or not.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, MissingError, ProcessingError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.arrays import open_array
from grasp_cli.retrieval.checksums import Files
from grasp_cli.retrieval.dense import DenseIndex, open_vectors
from grasp_cli.retrieval.ranking import Order
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.sparse import SparseIndex
from grasp_cli.retrieval.tokens import Tokenizer
from grasp_cli.retrieval.tree.files import GROWING, TREE
from grasp_cli.retrieval.tree.index import TreeIndex
from grasp_cli.retrieval.tree.settings import TreeSettings

MANIFEST, PASSAGES, BLANK = "index.json", "passages.jsonl", "blank.jsonl"
OFFSETS, ORDER, VECTORS = "offsets.npy", "order.npy", "vectors.bin"
ANN, SPARSE = "ann.faiss", "bm25"
CONTENT = (PASSAGES, BLANK, VECTORS)  # what the other files are computed from
FORMAT, VERSION, TREE_VERSION = "grasp index", 2, 3  # what has no trees is as it was before them
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, DataError)  # of a damaged file


@dataclass(frozen=True)
class Manifest:
    """What index.json holds besides `format` and `version`."""

    grasp: str
    profile: str
    model: dict[str, Any]  # name, sha256, dimension, dtype (in which it computed)
    vectors: dict[str, Any]  # dtype (in which they are stored)
    ann: dict[str, Any] | None  # asked, and where there is one: kind, parameters, recall
    bm25: dict[str, Any]  # method, k1, b, words (how many different ones)
    tokenizer: dict[str, Any]
    passage_words: int
    passage_overlap: int
    index_title: bool
    part_mark: str
    documents: int
    empty: int  # documents without any text, which cannot be found
    passages: int
    content: str
    files: Files
    tree: dict[str, Any] | None = None  # documents, chunks, nodes, node_mark, and the settings

    @property
    def version(self) -> int:
        """The version of the format."""
        return TREE_VERSION if self.tree else VERSION

    def write(self, directory: Path) -> None:
        """Write index.json."""
        value = {"format": FORMAT, "version": self.version, **asdict(self)}
        if not self.tree:
            del value["tree"]
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
            version = int(value["version"])
            if version in (VERSION, TREE_VERSION):
                known = {"tree": None, **value} if version == VERSION else value
                return cls(**{field.name: known[field.name] for field in fields(cls)})
        except _UNREADABLE as error:
            raise damaged(directory, MANIFEST) from error
        raise ProcessingError(_other_version(directory, version))

    @property
    def settings(self) -> Settings:
        """The settings that the index was made with."""
        return Settings(
            model=self.model["name"],
            sha256=self.model["sha256"],
            profile=self.profile,
            dtype=self.model["dtype"],
            dense_dtype=self.vectors["dtype"],
            ann=self.ann["asked"] if self.ann else "none",
            bm25=self.bm25["method"],
            passage_words=self.passage_words,
            passage_overlap=self.passage_overlap,
            index_title=self.index_title,
            tokenizer=Tokenizer.of(self.tokenizer),
            tree=self._tree_settings,
        )

    @property
    def _tree_settings(self) -> TreeSettings | None:
        if self.tree is None:
            return None
        return TreeSettings(**{field.name: self.tree[field.name] for field in fields(TreeSettings)})


class Index:
    """An index on disk. Its parts are opened when they are first used."""

    def __init__(self, directory: Path, threads: int | None = None) -> None:
        self.directory = directory
        self.threads = threads

    @cached_property
    def manifest(self) -> Manifest:
        """Settings and counts."""
        return Manifest.read(self.directory)

    @cached_property
    def sparse(self) -> SparseIndex:
        """BM25."""
        tokenizer = Tokenizer.of(self.manifest.tokenizer)
        bm25 = self.manifest.bm25
        for name in self.manifest.files:
            if name.startswith(f"{SPARSE}/"):
                self.part(name)
        try:
            return SparseIndex(
                self.directory / SPARSE,
                bm25["words"],
                self.manifest.passages,
                tokenizer,
                self.order,
                bm25["method"],
            )
        except _UNREADABLE as error:
            raise damaged(self.directory, SPARSE) from error

    @cached_property
    def dense(self) -> DenseIndex:
        """Search by vectors, approximate where the index was made so."""
        return DenseIndex(self.vectors, self.order, self.threads, self._ann)

    @cached_property
    def exact(self) -> DenseIndex:
        """Search by vectors, exact in any case."""
        return DenseIndex(self.vectors, self.order, self.threads)

    @cached_property
    def vectors(self) -> Any:
        """The mapped vectors, shape (passages, dimension)."""
        manifest = self.manifest
        try:
            return open_vectors(
                self.part(VECTORS),
                manifest.vectors["dtype"],
                manifest.model["dimension"],
                manifest.passages,
            )
        except _UNREADABLE as error:
            raise damaged(self.directory, VECTORS) from error

    @cached_property
    def _ann(self) -> Any:
        if not self.manifest.ann or "kind" not in self.manifest.ann:
            return None
        from grasp_cli.retrieval.ann import AnnIndex

        try:
            found = AnnIndex(self.part(ANN), self.manifest.ann)
        except RuntimeError as error:  # what FAISS raises for a file that it cannot read
            raise damaged(self.directory, ANN) from error
        if len(found) != self.manifest.passages:
            raise damaged(self.directory, ANN)
        return found

    @cached_property
    def trees(self) -> TreeIndex:
        """The trees; `UsageError` where the index was made without."""
        tree = self.manifest.tree
        if tree is None:
            raise UsageError(
                f"{self.directory}: this index has no trees; make it again: "
                f"grasp index DOCUMENTS.jsonl -x {self.directory} --with-tree"
            )
        for name in self.manifest.files:
            if name.startswith(f"{TREE}/"):
                self.part(name)
        try:
            dtype, width = self.manifest.vectors["dtype"], self.manifest.model["dimension"]
            return TreeIndex(self.directory, tree, dtype, width, self.manifest.passages)
        except _UNREADABLE as error:
            raise damaged(self.directory, TREE) from error

    def context(self, position: int, found: Record) -> Record:
        """A passage as a record's `contexts` have it; `found` holds its score and ranks."""
        stored = self.stored(position)
        context: Record = {"id": stored["id"]}
        if stored["part"] is not None:
            context["id"] += f"{self.manifest.part_mark}{stored['part']}"
            context |= {"doc_id": stored["id"], "start": stored["start"], "end": stored["end"]}
        if "title" in stored:
            context["title"] = stored["title"]
        context |= {"text": stored["text"], **found}
        rest = {key: value for key, value in stored["rest"].items() if key not in context}
        return {**context, **rest}

    def stored(self, position: int) -> Record:
        """A line of passages.jsonl."""
        start, end = int(self._offsets[position]), int(self._offsets[position + 1])
        self._passages.seek(start)
        try:
            stored: Record = json_lines.loads(self._passages.read(end - start), PASSAGES)
            return stored
        except DataError as error:
            raise damaged(self.directory, PASSAGES) from error

    @cached_property
    def _passages(self) -> Any:
        return open(self.part(PASSAGES), "rb")

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
            return open_array(self.part(name), length)
        except _UNREADABLE as error:
            raise damaged(self.directory, name) from error

    def part(self, name: str) -> Path:
        """The path of a file of the index; `ProcessingError` where its size is not what it was."""
        path = self.directory / name
        try:
            whole = path.stat().st_size == self.manifest.files[name]["bytes"]
        except _UNREADABLE as error:
            raise damaged(self.directory, name) from error
        if not whole:
            raise damaged(self.directory, name)
        return path


def is_index(directory: Path) -> bool:
    """Whether `directory` holds what `grasp index` wrote, of whatever version."""
    return (directory / MANIFEST).is_file()


def content_of(settings: Settings, files: Files) -> str:
    """`Manifest.content`."""
    names = (*CONTENT, *(GROWING if settings.tree else ()))
    hashes = [files[name]["sha256"] for name in names]
    return hashlib.sha256(json_lines.dumps([settings.as_json(), hashes])).hexdigest()


def damaged(directory: Path, part: str) -> ProcessingError:
    """The error for an index whose part is cut short, missing or not what it should be."""
    return ProcessingError(
        f"{directory / part}: missing or damaged; make the index again: "
        f"grasp index DOCUMENTS.jsonl -x {directory}"
    )


def _other_version(directory: Path, version: int) -> str:
    what = f"{directory}: an index of format {version}, and this grasp reads format {VERSION}; "
    if version > TREE_VERSION:
        return f"{what}it needs a newer grasp: pip install --upgrade grasp-cli"
    return f"{what}make it again: grasp index DOCUMENTS.jsonl -x {directory}"
