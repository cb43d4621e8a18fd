"""How many tokens a model takes at once."""

from __future__ import annotations

from typing import Any

_RELATIVE = 512  # positions of a model that has no table of them (T5)
_OFFSET_TYPES = ("roberta", "xlm-roberta", "mpnet")  # their first two positions hold no token


def usable_positions(config: Any) -> int:
    """The positions of a model by its config, special tokens included."""
    positions = int(getattr(config, "max_position_embeddings", None) or _RELATIVE)
    return positions - 2 if config.model_type in _OFFSET_TYPES else positions
