"""A token classifier: for every token of an input the probability that it is to be kept.

Three layouts are read, none of which runs code that came with the weights: transformers' own
`…ForTokenClassification` (LLMLingua-2), naver's Provence (a DeBERTa with a ranking head beside the
one for tokens) and OpenProvence (a sequence classifier with a pruning head).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import batches, padded
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.weights import read_weights
from grasp_cli.pipe.errors import DataError, ProcessingError

Floats = npt.NDArray[np.float64]

PROVENCE, OPEN_PROVENCE, PLAIN = "token_classifier", "pruning_head.classifier", "classifier"
_BATCH_TOKENS = 4096


class Row(NamedTuple):
    """One input: token ids with the special ones, and which text each token belongs to."""

    ids: Sequence[int]
    kinds: Sequence[int]


class TokenClassifier(LocalModel):
    """A token classifier of two classes (drop, keep) in a local directory."""

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

    @property
    def layout(self) -> str:
        """Which of the layouts the weights have: the name of their token head."""
        return self._network.layout

    @property
    def max_length(self) -> int:
        """The positions of the model, special tokens included."""
        return usable_positions(self._network.encoder.config)

    def load(self) -> None:
        """Load the weights."""
        _ = self._network

    def probabilities(self, rows: Sequence[Row]) -> Iterator[tuple[int, Floats]]:
        """P(keep) of every token, in the order that batches well.

        Yields
        ------
        tuple of int and numpy.ndarray
            The row's number and its probabilities, special tokens included, shape (tokens,).

        Raises
        ------
        ProcessingError
            Where the model returns a value that is not finite.
        """
        torch = torch_runtime(self._threads)
        network, sizes = self._network, [len(row.ids) for row in rows]
        for length, members in batches(sizes, self._batch_tokens):
            batch = [rows[number] for number in members]
            inputs = padded(batch, length, network.encoder.config, self.device)
            with torch.inference_mode():
                states = network.encoder(**inputs).last_hidden_state
                logits = torch.nn.functional.linear(states, network.weight, network.bias)
                found = logits.double().softmax(dim=-1)[..., 1].cpu().numpy()
            for place, number in enumerate(members):
                values: Floats = found[place, : sizes[number]]
                if not np.isfinite(values).all():
                    raise ProcessingError(
                        f"{self.name}: the model gave values that are not finite ({self.dtype})"
                    )
                yield number, values

    @cached_property
    def _network(self) -> _Network:
        torch = torch_runtime(self._threads)
        weights = read_weights(self.path)
        layout = next((name for name in (PROVENCE, OPEN_PROVENCE, PLAIN) if _is(weights, name)), "")
        if not layout:
            raise DataError(
                f"{self.path}: no token classifier of two classes is there (no weights "
                f"{PROVENCE}, {OPEN_PROVENCE} or {PLAIN} of two rows); choose another --compressor"
            )
        encoder = _encoder(self.path, weights)
        if layout == OPEN_PROVENCE and hasattr(encoder, "final_norm"):
            encoder.final_norm = torch.nn.Identity()  # its head was trained on states before it
        dtype = getattr(torch, self.dtype)
        weight, bias = (
            weights[f"{layout}.{part}"].to(self.device, dtype) for part in ("weight", "bias")
        )
        return _Network(encoder.to(self.device, dtype).eval(), weight, bias, layout)


class _Network(NamedTuple):
    encoder: Any
    weight: Any  # shape (2, hidden size)
    bias: Any  # shape (2,)
    layout: str


def _is(weights: dict[str, Any], head: str) -> bool:
    return f"{head}.weight" in weights and weights[f"{head}.weight"].shape[0] == 2


def _encoder(path: Path, weights: dict[str, Any]) -> Any:
    """The encoder that the directory's config describes, with the weights that are its own."""
    transformers = quiet_transformers()
    config = json.loads((path / "config.json").read_bytes())
    config = config.get("base_model_config") or config  # OpenProvence keeps it inside
    kind = config.pop("model_type", "")
    known = kind in transformers.models.auto.configuration_auto.CONFIG_MAPPING
    made = transformers.AutoConfig.for_model(kind if known else "deberta-v2", **config)
    encoder = transformers.AutoModel.from_config(made)
    wanted = [key for key in encoder.state_dict() if not key.startswith("pooler.")]
    prefix = _prefix(wanted, weights)
    if prefix is None:
        raise DataError(
            f"{path}: the weights are not those of the {made.model_type} that its config.json "
            "describes; choose another --compressor"
        )
    encoder.load_state_dict({key: weights[prefix + key] for key in wanted}, strict=False)
    return encoder


def _prefix(wanted: Sequence[str], weights: dict[str, Any]) -> str | None:
    """What stands in front of the encoder's names, so that all of them are there."""
    prefixes = [key.removesuffix(wanted[0]) for key in weights if key.endswith(wanted[0])]
    return next((p for p in prefixes if all(p + key in weights for key in wanted)), None)
