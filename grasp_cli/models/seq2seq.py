"""The cross-attention of an encoder-decoder's first step: what it looks at before it answers.

Of all attention weights only those of the last decoder layer are computed and kept. The encoder
runs on PyTorch's fused attention, which forms none. The decoder has one position, which needs no
keys or values per token: with a single query q, the product q (W h) equals (q W) h, and the sum of
a (W h) equals W (sum of a h), so both projections move to the one-row side and each layer reads
the encoder's states once instead of projecting all of them twice.

As in `encoder`, a row's results do not depend on the other rows of its batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import STEP, batches
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float64]

FAMILY = ("t5", "mt5", "umt5")  # the module names below are theirs
EXACT = "float32"  # what a batch with values that are not finite is computed in again

_EXACT_LENGTHS = 256  # longer rows share a batch only with rows of their own length: masks of
_BATCH_TOKENS = 4096  # (rows, heads, length, length) would cost more than the padding saves


def is_seq2seq(path: Path) -> bool:
    """Whether the model in this directory is an encoder-decoder, as its config.json says."""
    file = path / "config.json"
    return file.is_file() and bool(json.loads(file.read_bytes()).get("is_encoder_decoder"))


class Seq2Seq(LocalModel):
    """A T5 of any size in a local directory."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        dtype: str = EXACT,
        device: str = "cpu",
        batch_tokens: int = _BATCH_TOKENS,
    ) -> None:
        super().__init__(path, threads=threads, dtype=dtype, device=device)
        self._batch_tokens = batch_tokens
        self._models: dict[str, Any] = {}

    @property
    def end(self) -> int:
        """The token that ends an input."""
        return int(self._model(self.dtype).config.eos_token_id)

    def load(self) -> None:
        """Load the weights."""
        self._model(self.dtype)

    def attention(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Floats]]:
        """Last-layer cross-attention of the first decoder step, in the order that batches well.

        Parameters
        ----------
        inputs
            Token ids with the end token, at least one each.

        Yields
        ------
        tuple of int and numpy.ndarray
            The input's number and its weights, shape (tokens,): the mean over the heads, which
            sums to one.

        Raises
        ------
        ProcessingError
            Where the model returns a value that is not finite, in float32 too.
        """
        torch = torch_runtime(self._threads)
        sizes = [len(tokens) for tokens in inputs]
        for length, members in batches(sizes, self._batch_tokens, exact_above=_EXACT_LENGTHS):
            ids = torch.zeros((len(members), length), dtype=torch.long, device=self.device)
            mask = torch.zeros_like(ids)
            for row, number in enumerate(members):
                size = len(inputs[number])
                ids[row, :size] = torch.tensor(inputs[number], device=self.device)
                mask[row, :size] = 1
            weights = self._finite(ids, mask.bool())
            for row, number in enumerate(members):
                yield number, weights[row, : len(inputs[number])]

    def _finite(self, ids: Any, mask: Any) -> Floats:
        """The weights of a batch; a second time in float32 where they are not finite."""
        for dtype in dict.fromkeys((self.dtype, EXACT)):
            found = first_step(self._model(dtype), ids, mask)
            weights: Floats = found.double().cpu().numpy()
            if np.isfinite(weights).all():
                return weights
        raise ProcessingError(f"{self.name}: the model gave values that are not finite ({EXACT})")

    def _model(self, dtype: str) -> Any:
        if dtype not in self._models:
            torch, transformers = torch_runtime(self._threads), quiet_transformers()
            kind = transformers.AutoConfig.from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False
            )
            if kind.model_type not in FAMILY:
                raise ProcessingError(
                    f"{self.path}: cross-attention is read from {', '.join(FAMILY)} models, and "
                    f"this one is a {kind.model_type}; name a T5"
                )
            model = transformers.AutoModel.from_pretrained(
                self.path,
                dtype=getattr(torch, dtype),
                local_files_only=True,
                trust_remote_code=False,
            )
            self._models[dtype] = quicker(model.to(self.device).eval())
        return self._models[dtype]


def quicker(model: Any) -> Any:
    """The same T5 with its GELU in one kernel instead of eight, and each bias computed once."""
    torch = torch_runtime()
    from transformers.activations import NewGELUActivation

    for module in list(model.modules()):
        if isinstance(getattr(module, "act", None), NewGELUActivation):
            module.act = torch.nn.GELU(approximate="tanh")
        if getattr(module, "has_relative_attention_bias", False):
            _remember_bias(module)
    return model


def _remember_bias(attention: Any) -> None:
    """Keep the position bias of the last length, laid out as the fused attention reads it."""
    compute, kept = attention.compute_bias, dict[Any, Any]()

    def compute_bias(*lengths: Any, **more: Any) -> Any:
        key = (attention.relative_attention_bias.weight.dtype, *lengths, *more.items())
        if key not in kept:
            kept.clear()
            kept[key] = compute(*lengths, **more).contiguous()
        return kept[key]

    attention.compute_bias = compute_bias


def first_step(model: Any, ids: Any, mask: Any) -> Any:
    """The last decoder layer's cross-attention of one step from the start token.

    Parameters
    ----------
    model
        A T5 model of transformers.
    ids, mask
        Token ids and which of them count, tensors of shape (rows, length).

    Returns
    -------
    torch.Tensor
        Mean over the heads, shape (rows, length), float32; 0 where the mask is.
    """
    torch = torch_runtime()
    with torch.inference_mode():
        padded = None if bool(mask.all()) else mask
        states = model.encoder(input_ids=ids, attention_mask=padded).last_hidden_state
        rows = -(-len(ids) // STEP) * STEP  # one row takes another kernel than eight
        start = torch.full((rows, 1), _start_token(model.config), device=ids.device)
        state = model.decoder.embed_tokens(start)
        for block in model.decoder.block[:-1]:
            state = _alone(block.layer[0], state)
            normed = block.layer[1].layer_norm(state)
            attention = block.layer[1].EncDecAttention
            weights = _weights(attention, normed, states, mask)
            state = state + _read(attention, weights, states, rows)
            state = block.layer[2](state)
        last = model.decoder.block[-1]
        state = last.layer[1].layer_norm(_alone(last.layer[0], state))
        return _weights(last.layer[1].EncDecAttention, state, states, mask).mean(dim=1)


def _start_token(config: Any) -> int:
    """The decoder's first token; T5 starts with its padding token where none is named."""
    named = getattr(config, "decoder_start_token_id", None)
    return int(config.pad_token_id if named is None else named)


def _alone(layer: Any, state: Any) -> Any:
    """Self-attention of the only position: all of its weight is on itself."""
    attention = layer.SelfAttention
    return state + attention.o(attention.v(layer.layer_norm(state)))


def _weights(attention: Any, state: Any, states: Any, mask: Any) -> Any:
    """Attention weights of one query per row, shape (rows, heads, length), float32."""
    torch = torch_runtime()
    query = attention.q(state).view(len(state), attention.n_heads, -1)
    keys = attention.k.weight.view(attention.n_heads, -1, states.shape[-1])
    moved = torch.einsum("rhk,hkd->rhd", query, keys)[: len(states)]
    scores = _product(moved, states.transpose(1, 2)).float()
    return scores.masked_fill(~mask[:, None, :], -torch.inf).softmax(dim=-1)


def _read(attention: Any, weights: Any, states: Any, rows: int) -> Any:
    """What the query reads from the states, shape (rows, 1, dimension), zeros in added rows."""
    torch = torch_runtime()
    values = attention.v.weight.view(attention.n_heads, -1, states.shape[-1])
    mixed = torch.zeros(
        (rows, attention.n_heads, states.shape[-1]), dtype=states.dtype, device=states.device
    )
    mixed[: len(states)] = _product(weights.to(states.dtype), states)
    read = torch.einsum("rhd,hkd->rhk", mixed, values)
    return attention.o(read.reshape(rows, 1, -1))


def _product(left: Any, right: Any) -> Any:
    """Matrix products, one per row; on a CPU one by one, where batched ones round otherwise."""
    torch = torch_runtime()
    if left.device.type != "cpu":
        return torch.matmul(left, right)
    return torch.stack([torch.mm(one, other) for one, other in zip(left, right, strict=True)])
