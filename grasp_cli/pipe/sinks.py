"""Write JSONL: to standard output, or to a file that appears only when it is complete.

A file is written as FILE.part beside its place and renamed at the end, so that FILE is either
the old one or the whole new one. `.gz` and `.zst` are compressed by name. What stages write to a
file, so that it can be continued, is in `pipe.output`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.done import digest, read_key
from grasp_cli.pipe.errors import Interrupted, PipeClosed, ProcessingError, UsageError
from grasp_cli.pipe.expectation import Expectation
from grasp_cli.pipe.part import Part
from grasp_cli.pipe.sources import STDIN


class Lines(Protocol):
    """Takes lines, and hands them on when it is flushed."""

    def write_line(self, line: bytes, /) -> None: ...
    def flush(self) -> None: ...


class Sink:
    """Takes records one by one and counts them; `flush` hands on what was written so far."""

    def __init__(self, lines: Lines, expectation: Expectation | None = None) -> None:
        self._lines = lines
        self._expectation = expectation
        self._ids: set[bytes] | None = set() if expectation and expectation.ids else None
        self.count = 0

    def write(self, record: dict[str, Any]) -> None:
        """Write one record as one line."""
        self.write_line(json_lines.dumps(record))
        if self._ids is not None:
            self._ids.add(digest(record["id"]))

    def write_line(self, line: bytes) -> None:
        """Write one line of bytes, given without its newline."""
        self._lines.write_line(line)
        self.count += 1

    def write_record(self, line: bytes) -> None:
        """Write one record, given as its line."""
        self.write_line(line)
        if self._ids is not None:
            self._ids.add(read_key(line, "")[0])

    def flush(self) -> None:
        """Hand on what was written so far."""
        self._lines.flush()

    def check(self) -> None:
        """Raise `DataError` where the expectation is not met."""
        if self._expectation:
            ids = self._ids or set()
            self._expectation.check(self.count, lambda key: digest(key) in ids)


@contextmanager
def open_sink(
    path: Path | None,
    *,
    expect: str | None = None,
    inputs: Iterable[Path] = (),
    always: bool = False,
) -> Iterator[Sink]:
    """A `Sink` on `path` (None or "-" is standard output).

    On leaving without an exception the expectation is checked and the file renamed into place;
    otherwise the file that was there before stays as it was and FILE.part is removed. With
    `always` the file is put in place in any case, if there is something in it.
    """
    expectation = Expectation(expect) if expect is not None else None
    if path is None or not is_file(path):
        with open_stream(path) as stream:
            sink = Sink(stream, expectation)
            yield sink
            sink.flush()
            sink.check()
        return
    refuse_input(path, inputs)
    part = Part(path)
    try:
        sink = Sink(part, expectation)
        try:
            yield sink
        except BaseException:
            if always and sink.count:
                part.finish()
            raise
        sink.check()
        part.finish()
    finally:
        part.discard()


def is_file(path: Path | None) -> bool:
    """Whether the output is a file of its own: no standard output, no device, no pipe."""
    if path is None or path in (STDIN, Path(os.devnull)):
        return False
    return path.is_file() or not path.exists()


class _Stream:
    """Lines to what is open already, or is no regular file."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def write_line(self, line: bytes, /) -> None:
        with _closed_pipe(self._name):
            self._stream.write(line + b"\n")

    def flush(self) -> None:
        with _closed_pipe(self._name):
            self._stream.flush()


@contextmanager
def open_stream(path: Path | None) -> Iterator[Lines]:
    """Standard output, or a device or pipe that is there."""
    named = path is not None and path != STDIN
    try:
        stream = open(path if named and path else 1, "wb", closefd=named)  # noqa: SIM115
    except OSError as error:
        raise ProcessingError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield _Stream(stream, str(path) if named else "standard output")
    except Interrupted:
        _forget(stream)  # its reader may never take the rest
        raise
    finally:
        _drop_buffer(stream)


def _drop_buffer(stream: BinaryIO) -> None:
    """Close without a complaint about what can no longer be delivered."""
    try:
        stream.close()
    except OSError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _forget(stream: BinaryIO) -> None:
    """What is still in the buffer goes nowhere."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


@contextmanager
def _closed_pipe(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise PipeClosed(f"{name}: the reader went away") from None
    except OSError as error:
        raise ProcessingError(f"{name}: writing failed: {error.strerror}") from None


def refuse_input(path: Path, inputs: Iterable[Path]) -> None:
    """Raise `UsageError` where the output is also an input."""
    for given in inputs:
        if given != STDIN and path.exists() and given.exists() and path.samefile(given):
            raise UsageError(f"-o {path}: this is also an input; write to another file")
