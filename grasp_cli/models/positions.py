"""How many tokens a model takes at once."""

from __future__ import annotations

from typing import Any

_OFFSET_TYPES = ("roberta", "xlm-roberta", "mpnet")  # their first two positions hold no token


def usable_positions(config: Any) -> int:
    """The positions of a model by its config, special tokens included."""
    positions = int(config.max_position_embeddings)
    return positions - 2 if config.model_type in _OFFSET_TYPES else positions
