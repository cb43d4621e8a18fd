"""A cross-encoder: a sequence classifier that reads question and text together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import batches, padded
from grasp_cli.models.encoder import even_windows
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float64]

_BATCH_TOKENS = 4096
_TILE = 4


def is_cross_encoder(path: Path) -> bool:
    """Whether the directory holds a sequence classifier, as its config.json says."""
    file = path / "config.json"
    config = json.loads(file.read_bytes()) if file.is_file() else {}
    return any("ForSequenceClassification" in name for name in config.get("architectures") or [])


class CrossEncoder(LocalModel):
    """A sequence classifier in a local directory, with one logit or two classes."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        batch_tokens: int = _BATCH_TOKENS,
    ) -> None:
        super().__init__(path, threads=threads, dtype=dtype, device=device)
        self._batch_tokens = batch_tokens

    @cached_property
    def _model(self) -> Any:
        torch = torch_runtime(self._threads)
        model = self.trained(
            "AutoModelForSequenceClassification", "cross-encoder", "choose a sequence classifier"
        )
        if model.config.num_labels > 2:
            raise ProcessingError(
                f"{self.path}: a cross-encoder has one logit or two classes, and this model has "
                f"{model.config.num_labels}; choose another model"
            )
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                _use_full_tiles(module)
        return model

    @cached_property
    def max_length(self) -> int:
        """The positions of the model, special tokens included."""
        return usable_positions(self._model.config)

    def load(self) -> None:
        """Load the weights."""
        _ = self._model

    def room(self, question: str) -> int:
        """How many tokens of text fit beside a question."""
        return self.max_length - len(self.tokenizer.encode(question, "").ids)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The relevance of each text to its question, from 0 to 1, shape (len(pairs),).

        One logit goes through the logistic curve; of two classes it is the probability of the
        second. A text that does not fit is read in windows, and the best of them counts.
        """
        return np.asarray(np.tanh(self.logits(pairs) / 2) / 2 + 0.5)  # the logistic curve

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The same before the logistic curve, where high scores stay apart."""
        windows, owners = [], []
        for number, (question, text) in enumerate(pairs):
            for part in self._parts(question, text):
                windows.append((question, part))
                owners.append(number)
        encoded = self.tokenizer.encode_batch(windows)
        best = np.full(len(pairs), -np.inf)
        for number, score in self._scored(encoded):
            best[owners[number]] = max(best[owners[number]], score)
        return best

    def _parts(self, question: str, text: str) -> Iterator[str]:
        room = max(1, self.room(question))
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        if len(offsets) <= room:
            yield text
            return
        for start, end in even_windows(len(offsets), room):
            yield text[offsets[start][0] : offsets[end - 1][1]]

    def _scored(self, encoded: Sequence[Any]) -> Iterator[tuple[int, float]]:
        torch = torch_runtime(self._threads)
        sizes = [min(len(one.ids), self.max_length) for one in encoded]
        for length, members in batches(sizes, self._batch_tokens):
            batch = [(encoded[n].ids[: sizes[n]], encoded[n].type_ids[: sizes[n]]) for n in members]
            inputs = padded(batch, length, self._model.config, self.device)
            with torch.inference_mode():
                logits = self._model(**inputs).logits.double().cpu()
            if not bool(torch.isfinite(logits).all()):
                raise ProcessingError(
                    f"{self.name}: the model gave values that are not finite ({self.dtype})"
                )
            found = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
            yield from zip(members, found.tolist(), strict=True)


def _use_full_tiles(layer: Any) -> None:
    """Let a layer see a multiple of four rows where it sees one row per text (as heads do).

    Fewer go through other instructions of the processor, which round otherwise.
    """
    torch, plain = torch_runtime(), layer.forward

    def forward(rows: Any) -> Any:
        if rows.dim() != 2:
            return plain(rows)
        more = -len(rows) % _TILE
        return plain(torch.nn.functional.pad(rows, (0, 0, 0, more)))[: len(rows)]

    layer.forward = forward
