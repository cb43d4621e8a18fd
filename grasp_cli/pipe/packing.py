"""Lines to bytes on disk, plain or compressed, so that a file cut off anywhere keeps its lines.

A compressed file is a row of blocks (gzip members, zstandard frames) of about a mebibyte of text,
each of whole lines and readable by itself. Every flush within a block can be decompressed as far
as it goes, so a process that is killed loses nothing that was flushed; to go on, the file is cut
after its last whole block and the lines that followed are written again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

BLOCK = 1 << 20  # bytes of text
_CHUNK = 1 << 17
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 6


class Packer(Protocol):
    """What a file's bytes are made with."""

    def pack(self, lines: bytes) -> bytes:
        """The bytes of whole lines, readable as soon as they are on disk."""
        ...

    def end(self) -> bytes:
        """What makes the bytes so far a whole file; `pack` may follow."""
        ...


class Plain:
    """Lines as they are."""

    def pack(self, lines: bytes) -> bytes:
        """The lines."""
        return lines

    def end(self) -> bytes:
        """Nothing is missing."""
        return b""


class Blocks:
    """Compressed blocks; `start` makes a compressor, whose `flush` takes `sync` or `finish`."""

    def __init__(self, start: Callable[[], Any], sync: int, finish: int) -> None:
        self._start, self._sync, self._finish = start, sync, finish
        self._block: Any = None
        self._size = 0  # text in the block

    def pack(self, lines: bytes) -> bytes:
        """The lines, in the block that is open or in a new one."""
        if self._block is None:
            self._block = self._start()
        self._size += len(lines)
        packed: bytes = self._block.compress(lines) + self._block.flush(self._sync)
        return packed + self.end() if self._size >= BLOCK else packed

    def end(self) -> bytes:
        """The end of the block that is open."""
        if self._block is None:
            return b""
        ending: bytes = self._block.flush(self._finish)
        self._block, self._size = None, 0
        return ending


def packer_for(path: Path) -> Packer:
    """The packer that a file's name asks for: `.gz`, `.zst`, or none."""
    if path.suffix == ".gz":
        return Blocks(
            lambda: zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP), zlib.Z_SYNC_FLUSH, zlib.Z_FINISH
        )
    if path.suffix == ".zst":
        import zstandard

        return Blocks(
            lambda: zstandard.ZstdCompressor().compressobj(),
            zstandard.COMPRESSOBJ_FLUSH_BLOCK,
            zstandard.COMPRESSOBJ_FLUSH_FINISH,
        )
    return Plain()


class WholeLines:
    """The lines of a file that may have been cut off anywhere, without their newlines.

    `packed_as` is the path whose name says how the file is compressed. After the iteration `end`
    is where the last whole block (plain: the last whole line) ends, `after` the number of whole
    lines behind it, and `torn` what stands behind the last newline.
    """

    def __init__(self, path: Path, packed_as: Path) -> None:
        self._path = path
        self._start = _unpacker_for(packed_as)
        self.end = 0
        self.after = 0
        self.torn = b""

    def __iter__(self) -> Iterator[bytes]:
        if self._start is None:
            yield from self._plain()
        else:
            yield from self._blocks(0)

    def rest(self) -> Iterator[bytes]:
        """After the iteration: the whole lines behind `end`, again."""
        if self._start is not None and self.after:
            again = WholeLines.__new__(WholeLines)
            again.__dict__.update(self.__dict__)
            yield from again._blocks(self.end)

    def _plain(self) -> Iterator[bytes]:
        with open(self._path, "rb", _CHUNK) as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    self.torn = line
                    return
                self.end += len(line)
                yield line[:-1]

    def _blocks(self, start: int) -> Iterator[bytes]:
        text, self.after = b"", 0
        for piece, end in _unpacked(self._path, start, self._start):
            *lines, text = (text + piece).split(b"\n")
            self.after += len(lines)
            yield from lines
            if end is not None and not text:
                self.end, self.after = end, 0
        self.torn = text


def _unpacked(path: Path, start: int, make: Any) -> Iterator[tuple[bytes, int | None]]:
    """Pieces of text, and where in the file a block ends with the piece; stops at damage."""
    with open(path, "rb", _CHUNK) as stream:
        stream.seek(start)
        unit, read = make(), start
        while data := stream.read(_CHUNK):
            read += len(data)
            while data:
                try:
                    piece = unit.decompress(data)
                except _damage():
                    return
                data = unit.unused_data if unit.eof else b""
                yield piece, read - len(data) if unit.eof else None
                if unit.eof:
                    unit = make()


def _unpacker_for(path: Path) -> Callable[[], Any] | None:
    if path.suffix == ".gz":
        return lambda: zlib.decompressobj(_GZIP)
    if path.suffix == ".zst":
        import zstandard

        return lambda: zstandard.ZstdDecompressor().decompressobj()
    return None


def _damage() -> tuple[type[Exception], ...]:
    import zstandard

    return (zlib.error, zstandard.ZstdError)
