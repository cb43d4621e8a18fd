"""What decides the content of trees, besides the documents and the encoder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from grasp_cli.defaults import TREE as DEFAULTS

KINDS = ("embedding", "attention")
TREE = "tree"  # below the directory of an index
WEIGHTS = f"{TREE}/weights"


@dataclass(frozen=True)
class TreeSettings:
    """How the trees of an index are made."""

    kind: str = DEFAULTS.kind  # of KINDS: what is near
    merge: str = DEFAULTS.merge  # a key of `nodes.MERGES`
    chunk_sentences: int = DEFAULTS.chunk_sentences
    weights: str | None = None  # SHA-256 of trained weights

    def as_json(self) -> dict[str, Any]:
        """A value that is equal where the settings are."""
        return asdict(self)
