"""What tells models apart whatever they are called: the SHA-256 of their weights."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from grasp_cli.models.evidence_weights import CONFIG, is_evidence
from grasp_cli.models.locate import find, sha256_of

_PATTERNS = ("*.safetensors", "*.bin", "*.gguf")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def checked(name: str) -> dict[str, str | None]:
    """A model as a manifest names it: its name, and the SHA-256 of its weights here.

    A trained evidence model is its calibration as well, so its settings count.
    """
    directory = find(name)
    digest = weights_sha256(directory)
    if digest and is_evidence(directory):
        settings = sha256_of([directory / CONFIG])
        digest = hashlib.sha256((digest + settings).encode()).hexdigest()
    return {"name": name, "sha256": digest}


def weights_sha256(directory: Path) -> str | None:
    """Of one file its own; of several that of their hashes, in order; None without weights.

    A file of the Hugging Face cache is named by its hash, so gigabytes need not be read again.
    """
    for pattern in _PATTERNS:
        if files := sorted(directory.glob(pattern)):
            hashes = [_sha256(file) for file in files]
            joined = "".join(hashes).encode()
            return hashes[0] if len(hashes) == 1 else hashlib.sha256(joined).hexdigest()
    return None


def _sha256(file: Path) -> str:
    stored = file.resolve().name
    return stored if _SHA256.fullmatch(stored) else sha256_of([file])
