"""What models in a local directory share: a name, a tokenizer, where and in what they run."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any


class LocalModel:
    """A model in a local directory, loaded on first use by the classes below it."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        dtype: str = "float32",
        device: str = "cpu",
    ) -> None:
        self.path = path
        self.dtype = dtype
        self.device = device
        self._threads = threads

    @property
    def name(self) -> str:
        """A name for records and messages."""
        return self.path.name

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer (package tokenizers) without truncation and padding."""
        from grasp_cli.text.tokens import load_tokenizer

        return load_tokenizer(self.path)
