"""What models in a local directory share: a name, a tokenizer, where and in what they run."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError


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

    def trained(self, kind: str, name: str, choose: str) -> Any:
        """The weights as transformers' class `kind`, which has a head, in evaluation mode.

        Raises `ProcessingError`, that this is no `name` and what to choose instead, where weights
        of the head are not there: they would be random.
        """
        torch, transformers = torch_runtime(self._threads), quiet_transformers()
        model, found = getattr(transformers, kind).from_pretrained(
            self.path,
            dtype=getattr(torch, self.dtype),
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        if absent := sorted(found["missing_keys"]):
            raise ProcessingError(
                f"{self.path}: no {name}: its weights lack {', '.join(absent[:3])}; {choose}"
            )
        return model.to(self.device).eval()
