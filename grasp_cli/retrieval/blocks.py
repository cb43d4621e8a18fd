"""The work of a build so far: files that only grow, and a note up to where they count.

    passages.jsonl, blank.jsonl, vectors.bin   as in an index (`store`), of what was read so far
    tree/                                      the files of trees that grow (`tree.files`), if any
    progress.json   what is built (`job`), how many documents that is and their SHA-256, and the
                    size of each file when the last block was finished

What stands behind these sizes is of a block that was not finished, and is cut off on resuming.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, ProcessingError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import FORMATS, Vectors
from grasp_cli.retrieval.passages import Passage
from grasp_cli.retrieval.store import BLANK, CONTENT, PASSAGES, VECTORS
from grasp_cli.retrieval.tree import files as tree
from grasp_cli.retrieval.tree.building import Tree

PROGRESS = "progress.json"


class Blocks:
    """Files in `directory` that take passages block by block.

    Parameters
    ----------
    job : what decides the result besides the documents; another one is not resumed
    dtype : in which vectors are stored
    resume : go on from the last finished block, where there is one
    trees : whether there are trees beside the passages

    Raises `UsageError` where the interrupted build is another job, `ProcessingError` where its
    files are damaged.
    """

    def __init__(
        self,
        directory: Path,
        job: Record,
        dtype: str,
        resume: bool = False,
        *,
        trees: bool = False,
    ) -> None:
        self._directory = directory
        self._job = job
        self._dtype: Any = FORMATS[dtype]
        self.documents = self.passages = self.resumed = 0
        self._read = hashlib.sha256()  # of all documents read
        self._expected = self._read.hexdigest()  # of those that were read before
        if resume and (directory / PROGRESS).is_file():
            self._take_up()
        else:
            _clear(directory)
        if trees:
            (directory / tree.TREE).mkdir(exist_ok=True)
        self._streams: dict[str, BinaryIO] = {
            name: open(directory / name, "ab")  # noqa: SIM115 - `close` does
            for name in (*CONTENT, *(tree.GROWING if trees else ()))
        }

    def unread(self, documents: Iterable[Record]) -> Iterator[Record]:
        """The documents without those that the interrupted build has read, which are compared."""
        left = self.documents
        self.documents = 0
        for document in documents:
            if left == 0:
                self._compare()
            self._read.update(json_lines.dumps(document))
            self.documents += 1
            if left > 0:
                left -= 1
                continue
            left = -1
            yield document
        if left > 0:
            raise DataError(_other_documents(self._directory, f"only {self.documents} are left"))
        if left == 0:
            self._compare()

    def add(
        self,
        passages: Sequence[Passage],
        vectors: Vectors,
        blank: Sequence[str],
        trees: Sequence[Tree] = (),
    ) -> None:
        """Append a block, and note that it is finished once it is on the disk.

        `trees` are those of the documents of `passages`, in order, where there are trees.
        """
        self._streams[PASSAGES].writelines(json_lines.dumps(_stored(p)) + b"\n" for p in passages)
        self._streams[BLANK].writelines(json_lines.dumps(name) + b"\n" for name in blank)
        self._streams[VECTORS].write(self._narrowed(vectors).tobytes())
        if tree.DOCUMENTS in self._streams:
            for name, data in tree.tree_bytes(documents_of(passages), trees).items():
                self._streams[name].write(data)
            for found in trees:
                self._streams[tree.VECTORS].write(self._narrowed(found.vectors).tobytes())
        self.passages += len(passages)
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        self._note()

    def close(self) -> None:
        """Let go of the files."""
        for stream in self._streams.values():
            stream.close()

    def _narrowed(self, vectors: Vectors) -> Any:
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(vectors, self._dtype)
        if not np.isfinite(stored).all():
            raise ProcessingError(
                f"a vector does not fit into {self._dtype.name}: use --dense-dtype float32"
            )
        return stored

    def _note(self) -> None:
        progress = {
            "job": self._job,
            "documents": self.documents,
            "read": self._read.hexdigest(),
            "passages": self.passages,
            "bytes": {name: stream.tell() for name, stream in self._streams.items()},
        }
        new = self._directory / f"{PROGRESS}.new"
        with open(new, "wb") as stream:
            stream.write(json_lines.dumps(progress))
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self._directory / PROGRESS)

    def _take_up(self) -> None:
        progress = _progress(self._directory)
        if progress is None:
            raise ProcessingError(_start_over(self._directory, "its files are damaged"))
        if (other := _difference(progress["job"], self._job)) is not None:
            raise UsageError(_start_over(self._directory, f"it had other settings ({other})"))
        for name, size in progress["bytes"].items():
            path = self._directory / name
            if not path.is_file() or path.stat().st_size < size:
                raise ProcessingError(_start_over(self._directory, "its files are damaged"))
            os.truncate(path, size)
        self.documents, self._expected = progress["documents"], progress["read"]
        self.passages = self.resumed = progress["passages"]

    def _compare(self) -> None:
        if self._read.hexdigest() != self._expected:
            raise DataError(_other_documents(self._directory, "they differ"))


def documents_of(passages: Sequence[Passage]) -> list[Record]:
    """The documents that passages are of, in order; those of one document stand together."""
    return [
        passage.document
        for number, passage in enumerate(passages)
        if number == 0 or passages[number - 1].document is not passage.document
    ]


def passages_kept(directory: Path) -> int | None:
    """How many passages an interrupted build in `directory` has, None without one."""
    progress = _progress(directory)
    return progress["passages"] if progress else None


def _progress(directory: Path) -> Any:
    try:
        return orjson.loads((directory / PROGRESS).read_bytes())
    except (OSError, ValueError):
        return None


def _clear(directory: Path) -> None:
    """Remove what another build has left, the note first."""
    (directory / PROGRESS).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name in (*CONTENT, f"{PROGRESS}.new"):
            path.unlink()


def _difference(before: Record, now: Record) -> str | None:
    """The first setting that is not the same, for a message."""
    for key, value in now.items():
        if before.get(key) != value:
            return f"{key} was {before.get(key)}, is {value}"
    return None


def _start_over(directory: Path, reason: str) -> str:
    return (
        f"{directory}: this interrupted build cannot go on: {reason}; "
        "leave --resume out to start over"
    )


def _other_documents(directory: Path, reason: str) -> str:
    return _start_over(directory, f"the documents are not those that it had read first, {reason}")


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
