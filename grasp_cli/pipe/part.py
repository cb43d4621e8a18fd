"""FILE.part: where a file is written until it is complete, by one process at a time.

Every flush puts whole lines on disk. What was flushed outlives the process; `lines` reads it again
and `go_on` cuts off what was torn.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.pipe.packing import Packer, Plain, WholeLines, packer_for

_FULL = 1 << 20  # bytes of lines that are written without a flush
_MODE = 0o666  # less the umask
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # of a file system that has none


def part_of(path: Path) -> Path:
    """Where `path` is written until it is complete."""
    return path.with_name(f"{path.name}.part")


class BusyError(ProcessingError):
    """Another process is writing the file."""


class Part:
    """The part of `path`, locked until it is closed. Lines are appended.

    Raises `BusyError` where another process has it, `ProcessingError` where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.target = path
        self.path = part_of(path)
        self._packer = packer_for(path)
        self._lines: list[bytes] = []
        self._pending = 0
        self._broken = False  # the last write failed, so nothing may follow it
        try:
            self._descriptor = self._locked()
            self.size = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise ProcessingError(f"{path}: cannot be written: {error.strerror}") from None

    def lines(self) -> Iterator[bytes]:
        """The whole lines of what is there; to append to them, call `go_on` afterwards."""
        self._found = WholeLines(self.path, self.target)
        return iter(self._found)

    def go_on(self) -> None:
        """After `lines`: cut off what is torn, so that lines can be appended."""
        rest = list(self._found.rest())
        os.ftruncate(self._descriptor, self._found.end)
        self.size = self._found.end
        for line in rest:
            self.write_line(line)
        self.flush()

    def clear(self) -> None:
        """Begin anew."""
        os.ftruncate(self._descriptor, 0)
        self.size = 0

    def copy(self, source: Path) -> None:
        """Begin with the bytes of `source`, all or none of them."""
        with self._replacement() as new, open(source, "rb") as given:
            shutil.copyfileobj(given, new, _FULL)
        if isinstance(self._packer, Plain) and self._last_byte() not in (b"", b"\n"):
            self._write(b"\n")  # a file from elsewhere may lack its last newline

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Hold `lines`, which may come from this very part, in place of what is there."""
        self.flush()
        with self._replacement() as new:
            for data in _packed(lines, packer_for(self.target)):
                new.write(data)
        self._packer = packer_for(self.target)

    def write_line(self, line: bytes, /) -> None:
        """Append one line, given without its newline; flushed where much has come together."""
        self._lines.append(line)
        self._pending += len(line)
        if self._pending >= _FULL:
            self.flush()

    def flush(self) -> None:
        """Put the lines so far on disk."""
        if self._lines:
            self._lines.append(b"")
            lines, self._lines, self._pending = b"\n".join(self._lines), [], 0
            self._write(self._packer.pack(lines))

    def finish(self) -> None:
        """Put the file in its place."""
        self.flush()
        self._end()
        os.fsync(self._descriptor)
        self._refuse_stranger()
        os.replace(self.path, self.target)
        self._close()

    def leave(self) -> None:
        """Close, and keep what is there if there is anything."""
        if self._descriptor < 0:
            return
        try:
            if not self._broken:
                self.flush()
                if self.size:
                    self._end()
        finally:
            if not self.size and self._is_ours():
                self.path.unlink(missing_ok=True)
            self._close()

    def discard(self) -> None:
        """Close, and leave nothing behind."""
        if self._descriptor >= 0:
            if self._is_ours():
                self.path.unlink(missing_ok=True)
            self._close()

    @contextmanager
    def _replacement(self) -> Iterator[BinaryIO]:
        """A new file that is this part afterwards, with the lock; on an exception it is gone."""
        place = self.path.with_name(f"{self.path.name}.new")
        try:
            with open(place, "w+b") as new:
                fcntl.flock(new, fcntl.LOCK_EX)
                yield new
                new.flush()
                self._refuse_stranger()
                os.replace(place, self.path)
                self.size = new.tell()
                os.dup2(new.fileno(), self._descriptor, inheritable=False)
        except OSError as error:
            raise ProcessingError(f"{place}: writing failed: {error.strerror}") from None
        finally:
            place.unlink(missing_ok=True)

    def _end(self) -> None:
        ending = self._packer.end()
        if not self.size and not ending:
            ending = self._packer.pack(b"") + self._packer.end()  # no line at all is a file, too
        self._write(ending)

    def _write(self, data: bytes) -> None:
        self._refuse_stranger()
        view, at = memoryview(data), self.size
        try:
            while view:
                count = os.pwrite(self._descriptor, view, at)
                view, at = view[count:], at + count
        except OSError as error:
            self._broken = True
            os.ftruncate(self._descriptor, self.size)
            raise ProcessingError(f"{self.path}: writing failed: {error.strerror}") from None
        self.size = at

    def _locked(self) -> int:
        """A descriptor of the part that is at the path, and stays there while we have it."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise BusyError(
                    f"{self.target}: another grasp is writing this file ({self.path.name} is "
                    "locked): wait until it is done, or write to another file"
                ) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            if _same(descriptor, self.path):
                return descriptor
            os.close(descriptor)  # it was put in its place in the meantime

    def _refuse_stranger(self) -> None:
        if not self._is_ours():
            self._broken = True
            raise ProcessingError(
                f"{self.path}: this file was removed or replaced while it was being written; "
                "run the command again"
            )

    def _is_ours(self) -> bool:
        return _same(self._descriptor, self.path)

    def _last_byte(self) -> bytes:
        return os.pread(self._descriptor, 1, self.size - 1) if self.size else b""

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


def _packed(lines: Iterable[bytes], packer: Packer) -> Iterator[bytes]:
    """A whole file of lines, about `_FULL` bytes of them at a time."""
    pending, size = [], 0
    for line in lines:
        pending.append(line + b"\n")
        size += len(line)
        if size >= _FULL:
            yield packer.pack(b"".join(pending))
            pending, size = [], 0
    yield packer.pack(b"".join(pending)) + packer.end()


def _same(descriptor: int, path: Path) -> bool:
    here = os.fstat(descriptor)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
