"""Tokenizers by the directory of their model, and counting with them.

The package tokenizers reads `tokenizer.json` by itself; neither torch nor transformers is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grasp_cli.pipe.errors import MissingError


def load_tokenizer(path: Path) -> Any:
    """The tokenizer in a model's directory, without truncation and padding."""
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.exists():
        raise MissingError(
            f"{path}: no tokenizer.json there; save the model with its fast tokenizer"
        )
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class TokenCounter:
    """Counts tokens, special ones not included."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self._tokenizer: Any = None

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        if self._tokenizer is None:
            self._tokenizer = load_tokenizer(self._path)
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in found]
