"""Read JSONL: files or standard input, plain or compressed, one checked object at a time.

Compression is told from the first bytes, not from the name, so it works on standard input too.
A byte-order mark, blank lines and a missing final newline are accepted. A line longer than
`pipe.line_limit` allows is never held in memory; it counts as one that cannot be read.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.fingerprint import Fingerprint
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.log import is_terminal
from grasp_cli.pipe.records import Record, to_document, to_record
from grasp_cli.pipe.seen import SeenIds

STDIN = Path("-")
_BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 17
_LINE_BITS = 40  # of a place: above them the number of the file


@dataclass(frozen=True)
class BadLine:
    """A line that could not be read: where it stood, its bytes, and why."""

    path: str
    number: int
    line: bytes
    error: DataError


_KEPT = 1 << 12  # bytes of a line that is too long that its `BadLine` has
Took = Callable[[int], None]
OnBadLine = Callable[[BadLine], None]
Check = Callable[[Any, str, int], Record]


def raise_bad_line(bad: BadLine) -> None:
    """The default for `on_bad_line`: the first unreadable line ends the run."""
    raise bad.error


def take_no_note(count: int) -> None:
    """The default for `took`."""


def read_records(
    paths: Iterable[Path],
    on_bad_line: OnBadLine = raise_bad_line,
    took: Took = take_no_note,
    fingerprint: Fingerprint | None = None,
) -> Iterator[Record]:
    """Records of all files in turn, checked (`pipe.records`); equal ids are refused.

    `took` is told the bytes of each line read; `fingerprint` takes in what the files hold.
    """
    return _read(paths, to_record, on_bad_line, took, fingerprint)


def read_documents(
    paths: Iterable[Path], on_bad_line: OnBadLine = raise_bad_line, took: Took = take_no_note
) -> Iterator[Record]:
    """Documents of all files in turn, as `read_records`."""
    return _read(paths, to_document, on_bad_line, took)


def _read(
    paths: Iterable[Path],
    check: Check,
    on_bad_line: OnBadLine,
    took: Took,
    fingerprint: Fingerprint | None = None,
) -> Iterator[Record]:
    seen = SeenIds()
    names: list[str] = []
    total = 0
    for path in paths:
        names.append(_name(path))
        for number, line in read_lines(path, on_bad_line, fingerprint):
            took(len(line) + 1)
            total += 1
            where = f"{names[-1]}:{number}"
            try:
                record = check(json_lines.loads(line, where), where, total)
                _refuse_seen(record["id"], seen, names, number)
            except DataError as error:
                on_bad_line(BadLine(names[-1], number, line, error))
                continue
            yield record
    if fingerprint is not None:
        fingerprint.whole = True


def _refuse_seen(key: str, seen: SeenIds, names: list[str], number: int) -> None:
    here = ((len(names) - 1) << _LINE_BITS) + number
    first = seen.first(key, here)
    file, line = first >> _LINE_BITS, first & ((1 << _LINE_BITS) - 1)
    if first != here:
        raise DataError(
            f'{names[-1]}:{number}: the id "{key}" was used before, at {names[file]}:{line}'
        )


def read_lines(
    path: Path,
    on_bad_line: OnBadLine = raise_bad_line,
    fingerprint: Fingerprint | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank, without line ends and byte-order mark.

    One that is too long goes to `on_bad_line`, with its start, and is left out if that returns.
    """
    most = LIMITS.line_bytes
    with open_binary(path, fingerprint) as stream, damage_explained(path):
        for number, line in enumerate(iter(lambda: stream.readline(most + 1), b""), start=1):
            if len(line) > most and not line.endswith(b"\n"):
                on_bad_line(_too_long(_name(path), number, line))
                _skip_line(stream)
                continue
            text = line.rstrip(b"\r\n")
            if number == 1 and text.startswith(_BOM):
                text = text[len(_BOM) :]
            if text.strip():
                yield number, text


def _too_long(name: str, number: int, line: bytes) -> BadLine:
    error = DataError(
        f"{name}:{number}: the line is longer than {LIMITS.line_mb} MB; is this JSONL, one object "
        "a line? (--max-line-mb allows more)"
    )
    return BadLine(name, number, line[:_KEPT], error)


def _skip_line(stream: BinaryIO) -> None:
    """Read on to the end of the line that the stream is in."""
    while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
        pass


def start_of(path: Path, size: int) -> bytes:
    """The first `size` bytes, uncompressed; within `looking` standard input is left whole."""
    with open_binary(path) as stream, damage_explained(path):
        return stream.read(size)


@contextmanager
def damage_explained(path: Path) -> Iterator[None]:
    """Turn what reading damaged compressed data raises into a `DataError`."""
    import zstandard

    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise DataError(f"{_name(path)}: the compressed data is damaged: {error}") from None


def open_binary(path: Path, fingerprint: Fingerprint | None = None) -> BinaryIO:
    """Open a file or standard input ("-") for reading bytes, uncompressed on the way.

    `fingerprint` takes in the bytes as they are on disk.

    Standard input is opened anew on descriptor 0: a reader thread that is still blocked on it when
    the process ends must not hold the lock of `sys.stdin`.
    """
    try:
        file = _standard_input.open() if path == STDIN else open(path, "rb", 0)  # noqa: SIM115
    except IsADirectoryError:
        raise DataError(f"{path}: this is a directory; name a file in it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
    source: io.RawIOBase = fingerprint.watch(file, path) if fingerprint else file
    raw = io.BufferedReader(source, _CHUNK)
    start = raw.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if start.startswith(_ZSTD):
        from grasp_cli.pipe.zstd import ZstdReader

        return cast(BinaryIO, io.BufferedReader(ZstdReader(raw), _CHUNK))
    return raw


@contextmanager
def looking() -> Iterator[None]:
    """What is read from standard input inside is there again for the next one who opens it."""
    _standard_input.looking = True
    try:
        yield
    finally:
        _standard_input.looking = False


class _StandardInput:
    """Standard input, and what was read of it by someone who only looked."""

    def __init__(self) -> None:
        self.looking = False
        self._seen = bytearray()

    def open(self) -> io.RawIOBase:
        if not (self.looking or self._seen):
            return open(0, "rb", 0, closefd=False)
        raw = _Again(bytes(self._seen), self._seen if self.looking else None)
        if not self.looking:
            self._seen.clear()
        return raw


class _Again(io.RawIOBase):
    """The bytes `before`, then the rest of standard input; what is new is added to `seen`."""

    def __init__(self, before: bytes, seen: bytearray | None) -> None:
        self._before = memoryview(before)
        self._seen = seen

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if self._before:
            data = bytes(self._before[: len(buffer)])
            self._before = self._before[len(data) :]
        else:
            data = os.read(0, len(buffer))
            if self._seen is not None:
                self._seen += data
        buffer[: len(data)] = data
        return len(data)


_standard_input = _StandardInput()


def inputs_or_stdin(paths: list[Path] | None, verb: str) -> list[Path]:
    """The files to read; a terminal as the only input is a usage error, never a silent wait."""
    chosen = paths or [STDIN]
    if STDIN in chosen and is_terminal(sys.stdin):
        raise UsageError(f"usage: grasp {verb} [FILE…] (or data on standard input); see --help")
    return chosen


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)
