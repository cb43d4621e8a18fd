"""The dense encoder of an index: which one, and whether it is the one that made the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from grasp_cli.models.locate import find, sha256_of
from grasp_cli.pipe.errors import MissingError, ProcessingError
from grasp_cli.retrieval.dense import Embedder, Vectors
from grasp_cli.retrieval.store import Index

if TYPE_CHECKING:
    from grasp_cli.models.tree_weights import TreeWeights

# The names that sentence-transformers looks for, in turn.
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}


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


class LateEncoder:
    """An encoder that `find` gives on first use: what only deletes needs none."""

    def __init__(self, find: Callable[[], Embedder]) -> None:
        self._find = find

    @cached_property
    def found(self) -> Embedder:
        """The encoder, not loaded yet; raises what `find` raises."""
        return self._find()

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.found.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return self.found.embed(texts)


class Prompted:
    """An encoder that is given a prompt before every text, as its model was trained."""

    def __init__(self, encoder: Embedder, prompt: str) -> None:
        self._encoder = encoder
        self._prompt = prompt

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._encoder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return self._encoder.embed([self._prompt + text for text in texts])


def load_encoder(
    path: Path,
    purpose: str,
    dtype: str,
    threads: int | None = None,
    weights: TreeWeights | None = None,
) -> Embedder:
    """The encoder in a model directory, not loaded yet, for one `purpose`: a key of PROMPTS.

    `weights` hold a difference that is added to the model's.
    """
    from grasp_cli.models.encoder import Encoder

    encoder = Encoder(path, threads=threads, dtype=dtype, difference=weights)
    prompt = prompt_of(path, purpose)
    return Prompted(encoder, prompt) if prompt else encoder


def prompt_of(path: Path, purpose: str) -> str:
    """The prompt that config_sentence_transformers.json states for a purpose, if any."""
    stated = path / "config_sentence_transformers.json"
    settings = orjson.loads(stated.read_bytes()) if stated.is_file() else {}
    prompts = settings.get("prompts") or {}
    names = (*PROMPTS[purpose], settings.get("default_prompt_name"))
    return next((str(prompts[name]) for name in names if name in prompts), "")


def encoder_of(
    index: Index, given: str | None = None, threads: int | None = None, purpose: str = "query"
) -> Embedder:
    """The encoder that made `index`, not loaded yet; it computes in the number format of then.

    `given` is a name or path to use in place of the stored one, where the model has moved. Raises
    `MissingError` where it is not on this machine, `ProcessingError` where it is another one.
    """
    path = model_path_of(index, given)
    return load_encoder(path, purpose, index.manifest.model["dtype"], threads)


def model_path_of(index: Index, given: str | None = None) -> Path:
    """The directory of the encoder that made `index`; raises as `encoder_of` does."""
    stored = index.manifest.model
    name = given or stored["name"]
    path = find(name)
    if weights_sha256(path) != stored["sha256"]:
        raise ProcessingError(
            f"{index.directory}: this index was made with {stored['name']} and not with these "
            f"weights of {name}; make it again: "
            f"grasp index DOCUMENTS.jsonl -x {index.directory} --dense-model {name}"
        )
    return path
