"""Write JSONL: to standard output, or to a file that appears only when it is complete.

A file is written as FILE.part beside its place and renamed at the end, so that FILE is either
the old one or the whole new one. `.gz` and `.zst` are compressed by name.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, PipeClosed, ProcessingError, UsageError
from grasp_cli.pipe.sources import STDIN, read_lines


class Sink:
    """Takes records one by one and counts them; `flush` hands on what was written so far."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.count = 0
        self.ids: set[str] | None = None  # kept only when `Expectation` asks for it

    def write(self, record: dict[str, Any]) -> None:
        """Write one record as one line."""
        self.write_line(json_lines.dumps(record))
        if self.ids is not None:
            self.ids.add(record["id"])

    def write_line(self, line: bytes) -> None:
        """Write one line of bytes, given without its newline."""
        with _closed_pipe(self._name):
            self._stream.write(line + b"\n")
        self.count += 1

    def flush(self) -> None:
        """Hand on what was written so far."""
        with _closed_pipe(self._name):
            self._stream.flush()


class Expectation:
    """`--expect N|FILE`: how many records, or which ids, the output must hold."""

    def __init__(self, given: str) -> None:
        self.given = given
        self.count = int(given) if given.isdigit() else None
        self.ids = None if self.count is not None else _ids_of(Path(given))

    def check(self, sink: Sink) -> None:
        """Raise `DataError` where records are missing from what `sink` took."""
        if self.count is not None and sink.count != self.count:
            raise DataError(f"--expect {self.count}: {sink.count} records were written")
        missing = sorted((self.ids or set()) - (sink.ids or set()))
        if missing:
            shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
            raise DataError(f"--expect {self.given}: {len(missing)} ids are missing: {shown}")


@contextmanager
def open_sink(
    path: Path | None, *, expect: str | None = None, inputs: Iterable[Path] = ()
) -> Iterator[Sink]:
    """A `Sink` on `path` (None or "-" is standard output).

    On leaving without an exception the expectation is checked and the file renamed into place;
    otherwise the file that was there before stays as it was and FILE.part is removed.
    """
    expectation = Expectation(expect) if expect is not None else None
    if path is None or path == STDIN:
        yield from _standard_output(expectation)
        return
    _refuse_input(path, inputs)
    part = path.with_name(path.name + ".part")
    try:
        stream = _open_for_writing(part, path.name)
    except OSError as error:
        raise ProcessingError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with stream:
            sink = _counting(Sink(stream, str(path)), expectation)
            yield sink
        if expectation:
            expectation.check(sink)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _standard_output(expectation: Expectation | None) -> Iterator[Sink]:
    stream = open(1, "wb", closefd=False)  # noqa: SIM115 - closed below, with care
    sink = _counting(Sink(stream, "standard output"), expectation)
    try:
        yield sink
        sink.flush()
    finally:
        _drop_buffer(stream)
    if expectation:
        expectation.check(sink)


def _drop_buffer(stream: BinaryIO) -> None:
    """Close without a complaint about what can no longer be delivered."""
    try:
        stream.close()
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _counting(sink: Sink, expectation: Expectation | None) -> Sink:
    if expectation and expectation.ids is not None:
        sink.ids = set()
    return sink


@contextmanager
def _closed_pipe(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise PipeClosed(f"{name}: the reader went away") from None
    except OSError as error:
        raise ProcessingError(f"{name}: writing failed: {error.strerror}") from None


def _open_for_writing(part: Path, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(part, "wb", mtime=0))
    if name.endswith(".zst"):
        import zstandard

        return cast(BinaryIO, zstandard.open(part, "wb"))
    return open(part, "wb")


def _refuse_input(path: Path, inputs: Iterable[Path]) -> None:
    for given in inputs:
        if given != STDIN and path.exists() and given.exists() and path.samefile(given):
            raise UsageError(f"-o {path}: this is also an input; write to another file")


def _ids_of(path: Path) -> set[str]:
    from grasp_cli.pipe.records import ALIASES

    ids = set()
    for position, (number, line) in enumerate(read_lines(path), start=1):
        value = json_lines.loads(line, f"{path}:{number}")
        found = (value.get(key) for key in ("id", *ALIASES["id"]))
        ids.add(str(next((key for key in found if key is not None), f"q{position}")))
    return ids
