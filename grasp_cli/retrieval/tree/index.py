"""The trees of an index, open for reading; memory-mapped."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, ProcessingError
from grasp_cli.pipe.provenance import PART_GAP
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.arrays import open_array
from grasp_cli.retrieval.dense import FORMATS
from grasp_cli.retrieval.tree import files
from grasp_cli.retrieval.tree.chunks import runs
from grasp_cli.retrieval.tree.nodes import chunks_below, parents, path_to
from grasp_cli.text import Span

Order = npt.NDArray[np.uint32]


class Planted(NamedTuple):
    """One document's tree; see `building.Tree`."""

    chunks: Any
    pairs: Any
    strengths: Any
    vectors: Any

    @property
    def root(self) -> int:
        """The last node; -1 where there is none."""
        return len(self.vectors) - 1

    def spans(self, node: int) -> list[Span]:
        """The spans of a node's text; chunks side by side are one span."""
        return runs(chunks_below(node, self.pairs), self.chunks)


class TreeIndex:
    """The files of `files`.

    Raises `ValueError`, `OSError` or `EOFError` where one is damaged.

    Parameters
    ----------
    directory : of the index
    made : what its index.json says of trees
    dtype, dimension : of the vectors
    passages : how many the index has
    """

    def __init__(
        self, directory: Path, made: dict[str, Any], dtype: str, dimension: int, passages: int
    ) -> None:
        self.directory = directory
        self.mark: str = made["node_mark"]
        count, chunks, nodes = made["documents"], made["chunks"], made["nodes"]
        self.starts = open_array(directory / files.STARTS, count + 1)
        self.nodes = open_array(directory / files.NODES, count + 1)
        self.order: Order = open_array(directory / files.ORDER, count)
        self.of_passages = open_array(directory / files.PASSAGE_DOCUMENTS, passages)
        self._lines = open_array(directory / files.LINES, count + 1)
        self.chunks = files.mapped(directory / files.CHUNKS, "<u4", (chunks, 2))
        self.merges = files.mapped(directory / files.MERGES, "<u4", (nodes - chunks, 2))
        self.strengths = files.mapped(directory / files.STRENGTHS, "<f4", (nodes - chunks,))
        self.vectors = files.mapped(directory / files.VECTORS, FORMATS[dtype], (nodes, dimension))

    def __len__(self) -> int:
        return len(self.order)

    def tree(self, document: int) -> Planted:
        """The tree of a document, by its place."""
        first, last = int(self.starts[document]), int(self.starts[document + 1])
        node, end = int(self.nodes[document]), int(self.nodes[document + 1])
        merges = slice(node - first, end - last)
        return Planted(
            self.chunks[first:last],
            self.merges[merges],
            self.strengths[merges],
            self.vectors[node:end],
        )

    def document(self, number: int) -> Record:
        """A line of documents.jsonl."""
        self._stream.seek(int(self._lines[number]))
        length = int(self._lines[number + 1]) - int(self._lines[number])
        try:
            stored: Record = json_lines.loads(self._stream.read(length), files.DOCUMENTS)
            return stored
        except DataError as error:
            raise ProcessingError(
                f"{self.directory / files.DOCUMENTS}: damaged; make the index again: "
                f"grasp index DOCUMENTS.jsonl -x {self.directory} --with-tree"
            ) from error

    def place(self, name: str) -> int | None:
        """The place of the document called `name`, None where there is none."""
        sorted_places = np.argsort(self.order, kind="stable")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.document(int(sorted_places[middle]))["id"] < name:
                low = middle + 1
            else:
                high = middle
        if low < len(self) and self.document(int(sorted_places[low]))["id"] == name:
            return int(sorted_places[low])
        return None

    def context(self, document: int, node: int, found: Record) -> Record:
        """A node as a record's `contexts` have it; `found` holds its score and ranks."""
        stored, tree = self.document(document), self.tree(document)
        spans, path = tree.spans(node), path_to(node, parents(tree.pairs))
        name, text = stored["id"], stored["text"]
        context: Record = {"id": f"{name}{self.mark}{node}", "doc_id": name}
        if len(spans) == 1:
            context |= {"start": spans[0][0], "end": spans[0][1]}
        if "title" in stored:
            context["title"] = stored["title"]
        context |= {
            "text": PART_GAP.join(text[start:end] for start, end in spans),
            **found,
            "node": node,
            "level": len(path) - 1,
            "path": path,
            "source": [{"doc_id": name, "start": start, "end": end} for start, end in spans],
        }
        rest = {key: value for key, value in stored["rest"].items() if key not in context}
        return {**context, **rest}

    @cached_property
    def _stream(self) -> Any:
        return open(self.directory / files.DOCUMENTS, "rb")
