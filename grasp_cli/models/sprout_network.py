"""An encoder and the weights of its attention heads, as a training of trees changes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grasp_cli.models.batches import STEP
from grasp_cli.models.chunk_pooling import (
    aggregated,
    head_weights,
    pooled_attention,
    pooled_states,
)
from grasp_cli.models.encoder import special_tokens
from grasp_cli.models.pooling import Pooling
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.models.trainable import trainable_encoder
from grasp_cli.pipe.errors import UsageError
from grasp_cli.text.tokens import load_tokenizer


class Chunks(NamedTuple):
    """What a window gives for its n chunks."""

    vectors: Any  # shape (n, d): the mean state of each one's tokens
    attention: Any  # between them, shape (layers, heads, n, n); rows sum to one


class SproutNetwork:
    """Encoder, with attention that can be read, and `head`, which holds `alpha`.

    Raises `UsageError` where vectors are not the mean of token states.
    """

    def __init__(self, base: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        torch = torch_runtime(threads)
        pooling = Pooling.of(base)
        if pooling.modes != ("mean",) or pooling.projections:
            raise UsageError(
                f"--base {base.name}: trees need an encoder whose vectors are the mean of token "
                "states, without a projection"
            )
        self.base = base
        self.device = device
        self.tokenizer = load_tokenizer(base)
        self.before, self.after = special_tokens(self.tokenizer)
        self.encoder = trainable_encoder(base, "eager")
        config = self.encoder.config
        alpha = torch.zeros(config.num_hidden_layers, config.num_attention_heads)
        self.head = torch.nn.ParameterDict({"alpha": torch.nn.Parameter(alpha)})
        self.on(device)
        self.encoder.eval()

    def on(self, device: str) -> None:
        """Move to another device."""
        self.device = device
        self.encoder.to(device)
        self.head.to(device)

    @property
    def room(self) -> int:
        """Most tokens of a text, special ones not included."""
        return usable_positions(self.encoder.config) - len(self.before) - len(self.after)

    def questions(self, texts: Sequence[Sequence[int]]) -> Any:
        """Vectors of texts, shape (len(texts), d): the mean state of all tokens, special too."""
        states, _ = self._passed(texts, attention=False)
        extra = len(self.before) + len(self.after)
        return self._torch.stack(
            [row[: len(text) + extra].mean(0) for row, text in zip(states, texts, strict=True)]
        )

    def chunks(self, texts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Chunks]:
        """What one batch of texts gives; each is its tokens and the bounds of its chunks."""
        states, layers = self._passed([tokens for tokens, _ in texts], attention=True)
        lead, found = len(self.before), []
        for row, (_, bounds) in enumerate(texts):
            shifted = [lead + bound for bound in bounds]
            pooled = [pooled_attention(layer[row].float(), shifted) for layer in layers]
            vectors = pooled_states(states[row].float(), shifted)
            found.append(Chunks(vectors, self._torch.stack(pooled)))
        return found

    def relation(self, attention: Any) -> Any:
        """M of chunks, shape (n, n), from `Chunks.attention`."""
        return aggregated(attention, head_weights(self.head["alpha"]))

    @property
    def _torch(self) -> Any:
        return torch_runtime()

    def _passed(self, texts: Sequence[Sequence[int]], *, attention: bool) -> tuple[Any, Any]:
        torch = self._torch
        rows = [[*self.before, *text, *self.after] for text in texts]
        longest = max(map(len, rows))
        length = min(-(-longest // STEP) * STEP, usable_positions(self.encoder.config))
        ids = torch.zeros((len(rows), length), dtype=torch.long)
        mask = torch.zeros((len(rows), length), dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        output = self.encoder(
            input_ids=ids.to(self.device),
            attention_mask=mask.to(self.device),
            output_attentions=attention,
        )
        return output.last_hidden_state, output.attentions if attention else None
