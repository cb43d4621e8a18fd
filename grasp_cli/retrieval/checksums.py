"""Size and SHA-256 of every file of a directory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

Files = dict[str, dict[str, Any]]  # name below the directory -> {"bytes", "sha256"}
_BLOCK = 1 << 20


def files_of(directory: Path) -> Files:
    """Every file below `directory`, by name; all of them are on the disk when this returns."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): checksum(path, sync=True) for path in paths}


def checksum(path: Path, *, sync: bool = False) -> dict[str, Any]:
    """{"bytes", "sha256"} of a file; `sync` waits until the disk has it."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
        if sync:
            os.fsync(stream.fileno())
        return {"bytes": stream.tell(), "sha256": digest.hexdigest()}
