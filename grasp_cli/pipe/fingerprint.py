"""The SHA-256 of what is read, taken on the way."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any


class Fingerprint:
    """Of all files together, as they are on disk: of one file what `sha256sum` prints."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.whole = False  # whether everything was read to its end
        self._hash = hashlib.sha256()

    def watch(self, raw: io.RawIOBase, path: Path) -> io.RawIOBase:
        """The same stream; what is read from it is taken in."""
        self.files.append(str(path))
        return _Watched(raw, self._hash)

    def as_json(self) -> dict[str, Any]:
        """Names, and the hash where everything was read."""
        return {"files": self.files, "sha256": self._hash.hexdigest() if self.whole else None}


class _Watched(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, digest: Any) -> None:
        self._raw = raw
        self._hash = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(buffer)
        if count:
            self._hash.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
