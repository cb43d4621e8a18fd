"""A zstandard stream that notices a missing end.

The package's own `stream_reader` ends quietly where the data is cut off, so that half a file
would look like a whole one.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

_CHUNK = 1 << 10  # of compressed bytes, of which a hostile file can make 32 MB


class ZstdReader(io.RawIOBase):
    """Decompresses one or several frames; raises `EOFError` where the last one is cut off."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as data is at hand; 0 at the end."""
        while not self._ready:
            if not self._compressed:
                self._compressed = self._raw.read1(_CHUNK)  # type: ignore[attr-defined]
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._decompress()
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decompress(self) -> None:
        if self._frame is None:
            import zstandard

            self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(self._frame.decompress(self._compressed))
        self._compressed = b""
        if self._frame.eof:
            self._compressed = self._frame.unused_data
            self._frame = None
