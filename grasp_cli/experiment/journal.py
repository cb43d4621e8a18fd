"""The records of a cell that is not finished: each is on disk as soon as it is there.

A run that was killed leaves at most one torn line, the last; the next run leaves it out, goes on
with the questions that are not there, and in the end writes all in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, ProcessingError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink


class Journal:
    """The records of one cell, at `path` once it is finished and in a journal beside before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._beside = path.with_suffix(".journal")

    def known(self) -> dict[str, Record]:
        """Records by id, of a finished cell or of an interrupted one.

        Those that failed for a reason that may have passed are left out.
        """
        found = {record["id"]: record for record in self._read()}
        return {key: record for key, record in found.items() if not _may_succeed(record)}

    @property
    def is_whole(self) -> bool:
        """Whether the cell was finished once."""
        return self.path.is_file()

    @property
    def begun(self) -> bool:
        """Whether there is any record."""
        return self.is_whole or self._beside.is_file()

    def throw_away(self) -> None:
        """Forget all records."""
        self.path.unlink(missing_ok=True)
        self._beside.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[JournalWriter]:
        """Add records, each at once."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _drop_torn_line(self._beside)
            stream = open(self._beside, "ab")  # noqa: SIM115 - closed below
        except OSError as error:
            raise _unwritable(self._beside, error) from None
        with stream:
            yield JournalWriter(stream, self._beside)

    def finish(self, records: Iterable[Record]) -> None:
        """Write all records where a finished cell is, whole or not at all."""
        with open_sink(self.path) as sink:
            for record in records:
                sink.write(record)
        self._beside.unlink(missing_ok=True)

    def _read(self) -> Iterator[Record]:
        if self.path.is_file():
            yield from _whole(self.path)
        if self._beside.is_file():
            yield from _whole(self._beside, torn=True)


class JournalWriter:
    """Takes records and hands each to the system at once."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._path = path

    def add(self, record: Record) -> None:
        """Write one record."""
        try:
            self._stream.write(json_lines.dumps(record) + b"\n")
            self._stream.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from None


def _unwritable(path: Path, error: OSError) -> ProcessingError:
    return ProcessingError(f"{path}: cannot be written: {error.strerror}")


def _whole(path: Path, torn: bool = False) -> Iterator[Record]:
    """The records of a file; with `torn`, a last line without its end is left out."""
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            if torn and not line.endswith(b"\n"):
                return
            record = json_lines.loads(line, f"{path}:{number}")
            if not isinstance(record, dict) or "id" not in record:
                raise DataError(f"{path}:{number}: not a record of a cell; remove the file")
            yield record


def _drop_torn_line(path: Path) -> None:
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with open(path, "r+b") as stream:
            stream.truncate(content.rfind(b"\n") + 1)


def _may_succeed(record: Record) -> bool:
    error = record.get("error")
    return isinstance(error, dict) and bool(error.get("retryable"))
