"""The dense encoder of an index: which one, and whether it is the one that made the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grasp_cli.models.locate import find, sha256_of
from grasp_cli.pipe.errors import MissingError, ProcessingError
from grasp_cli.retrieval.store import Index

if TYPE_CHECKING:
    from grasp_cli.models.encoder import Encoder


def weights_sha256(path: Path) -> str:
    """The SHA-256 of a model directory's weights, which tells models apart whatever their names."""
    for pattern in ("*.safetensors", "*.bin"):
        if files := sorted(path.glob(pattern)):
            return sha256_of(files)
    raise MissingError(f"{path}: no weights in this directory (no .safetensors, no .bin)")


def portable_name(name_or_path: str) -> str:
    """A model's name as it is; a path made absolute, since it is looked up from elsewhere later."""
    path = Path(name_or_path).expanduser()
    return str(path.resolve()) if path.is_dir() else name_or_path


def encoder_of(index: Index, given: str | None = None, threads: int | None = None) -> Encoder:
    """The encoder that made `index`, not loaded yet.

    `given` is a name or path to use in place of the stored one, where the model has moved. Raises
    `MissingError` where it is not on this machine, `ProcessingError` where it is another one.
    """
    stored = index.manifest.model
    name = given or stored["name"]
    path = find(name)
    if weights_sha256(path) != stored["sha256"]:
        raise ProcessingError(
            f"{index.directory}: this index was made with {stored['name']} and not with these "
            f"weights of {name}; make it again: "
            f"grasp index DOCUMENTS.jsonl -x {index.directory} --dense-model {name}"
        )
    from grasp_cli.models.encoder import Encoder

    return Encoder(path, threads=threads)
