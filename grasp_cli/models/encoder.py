"""A transformer encoder as a sentence embedder and as a source of contextual token states.

The results do not depend on what else is in a batch, not even in the last bit: texts are padded
to a multiple of eight tokens and only texts of the same padded length share a batch, so that the
shapes of a text's own arithmetic are always the same (on a CPU in float32; tested). That also
wastes far less work than padding to the longest of a mixed batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import batches
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.pooling import Pooling
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError

if TYPE_CHECKING:
    from grasp_cli.models.tree_weights import TreeWeights

Floats = npt.NDArray[np.float32]

_BATCH_TOKENS = 4096  # larger batches fall out of the processor's cache and are slower
_ATTENTION_BYTES = 1 << 28  # of the attention of one batch, all layers and heads


class Encoder(LocalModel):
    """An encoder model in a local directory (sentence-transformers or plain transformers layout).

    Pooling and normalisation are those that the directory's own files state; a directory without
    such files (Contriever, say) is mean-pooled and not normalised.

    Parameters
    ----------
    eager : compute attention so that it can be read (`attending`), which is slower
    difference : trained weights whose difference is added to the model's
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        dtype: str = "float32",
        batch_tokens: int = _BATCH_TOKENS,
        remember: int = 0,
        eager: bool = False,
        difference: TreeWeights | None = None,
    ) -> None:
        super().__init__(path, threads=threads, dtype=dtype)
        self._batch_tokens = batch_tokens
        self._remember = remember  # how many vectors are kept for texts that come again
        self._known: dict[str, Floats] = {}
        self._eager = eager
        self._difference = difference

    @cached_property
    def _model(self) -> Any:
        torch = torch_runtime(self._threads)
        transformers = quiet_transformers()
        local = {"local_files_only": True, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(self.path, **local)
        kind, attention = transformers.AutoModel, "eager" if self._eager else "sdpa"
        if config.is_encoder_decoder:  # T5: its encoder alone
            kind, attention = transformers.AutoModelForTextEncoding, "eager"
        options = {"dtype": getattr(torch, self.dtype), "attn_implementation": attention, **local}
        model = kind.from_pretrained(self.path, **options).eval()
        if self._difference is not None:
            self._difference.refuse_shape(self.name, config)
            self._difference.add_to(model)
        return model

    @cached_property
    def pooling(self) -> Pooling:
        """How one vector is made of token states."""
        return Pooling.of(self.path)

    @property
    def heads(self) -> tuple[int, int]:
        """How many layers there are, and how many heads of attention in each."""
        config = self._model.config
        return int(config.num_hidden_layers), int(config.num_attention_heads)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.pooling.dimension(int(self._model.config.hidden_size))

    @cached_property
    def max_length(self) -> int:
        """The positions of the model, special tokens included (not the shorter packaged limit)."""
        return usable_positions(self._model.config)

    @cached_property
    def special_tokens(self) -> tuple[list[int], list[int]]:
        """What the tokenizer puts before and after a text."""
        return special_tokens(self.tokenizer)

    @property
    def room(self) -> int:
        """How many tokens of text fit in one pass."""
        before, after = self.special_tokens
        return self.max_length - len(before) - len(after)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Vectors of texts, shape (len(texts), dimension), float32.

        Equal texts are computed once. A text of more than `room` tokens is embedded in windows of
        equal size, and its vector is their mean, weighted by tokens (normalised again where the
        model normalises): nothing is cut.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = {**self._known, **dict(zip(new, self._vectors(new), strict=True))}
        if self._remember:
            self._known = dict(list(found.items())[-self._remember :])
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([found[text] for text in texts])

    def forget(self) -> None:
        """Compute again what was embedded so far."""
        self._known = {}

    def _vectors(self, texts: list[str]) -> Floats:
        windows, owners = self._windows(texts)
        pooled = len(self.pooling.modes) * int(self._model.config.hidden_size)
        vectors = np.zeros((len(texts), pooled), np.float32)
        weights = np.zeros(len(texts), np.float32)
        for number, states in self.states(windows):
            vector, size = self.pooling.pool(states), len(windows[number])
            vectors[owners[number]] += vector * max(size, 1)
            weights[owners[number]] += max(size, 1)
        vectors /= np.maximum(weights, 1)[:, None]
        return self.pooling.finish(vectors)

    def _windows(self, texts: list[str]) -> tuple[list[list[int]], list[int]]:
        windows, owners = [], []
        for number, found in enumerate(
            self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ):
            for start, end in even_windows(len(found.ids), self.room):
                windows.append(found.ids[start:end])
                owners.append(number)
        return windows, owners

    def states(self, windows: Sequence[Sequence[int]]) -> Iterator[tuple[int, Any]]:
        """The last hidden states of token windows, in the order that batches well.

        Parameters
        ----------
        windows
            Token ids without special tokens, at most `room` each; those are added here.

        Yields
        ------
        tuple of int and torch.Tensor
            The window's number and its states with special tokens, shape (tokens, dimension),
            float32.

        Raises
        ------
        ProcessingError
            Where the model returns a value that is not finite.
        """
        for number, size, output, row in self._passes(windows):
            yield number, self._finite(output.last_hidden_state[row, :size].float())

    def attending(self, windows: Sequence[Sequence[int]]) -> Iterator[tuple[int, Any, list[Any]]]:
        """As `states`, and after the states the attention of each layer.

        A layer's attention has the shape (heads, tokens, tokens), special tokens included; each
        row sums to one. Raises `ProcessingError` where the model gives none.
        """
        for number, size, output, row in self._passes(windows, attentions=True):
            layers = output.attentions
            if not layers or any(layer is None for layer in layers):
                raise ProcessingError(
                    f"{self.name}: the model gives no attention, which trees by attention are made "
                    "of; choose another --dense-model, or --tree embedding"
                )
            states = self._finite(output.last_hidden_state[row, :size].float())
            yield number, states, [layer[row, :, :size, :size] for layer in layers]

    def _finite(self, states: Any) -> Any:
        if bool(torch_runtime().isfinite(states).all()):
            return states
        raise ProcessingError(
            f"{self.name}: the model gave values that are not finite ({self.dtype})"
        )

    def _passes(
        self, windows: Sequence[Sequence[int]], *, attentions: bool = False
    ) -> Iterator[tuple[int, int, Any, int]]:
        """Of each window its number, its tokens, the output of its batch and its row there."""
        torch = torch_runtime(self._threads)
        before, after = self.special_tokens
        sizes = [len(window) + len(before) + len(after) for window in windows]
        asked = {"output_attentions": True} if attentions else {}
        for length, members in batches(sizes, self._batch_tokens):
            most = len(members)
            if attentions:
                layers, heads = self.heads
                most = max(1, _ATTENTION_BYTES // (4 * layers * heads * length**2))
            for start in range(0, len(members), most):
                rows = members[start : start + most]
                ids = torch.zeros((len(rows), length), dtype=torch.long)
                mask = torch.zeros((len(rows), length), dtype=torch.long)
                for row, number in enumerate(rows):
                    ids[row, : sizes[number]] = torch.tensor([*before, *windows[number], *after])
                    mask[row, : sizes[number]] = 1
                with torch.inference_mode():
                    output = self._model(input_ids=ids, attention_mask=mask, **asked)
                for row, number in enumerate(rows):
                    yield number, sizes[number], output, row


def special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What a tokenizer (package tokenizers) puts before and after a text."""
    empty = tokenizer.encode("").ids
    probe = tokenizer.encode("a").ids
    before = next(
        (i for i, pair in enumerate(zip(empty, probe, strict=False)) if pair[0] != pair[1]),
        len(empty),
    )
    return empty[:before], empty[before:]


def even_windows(count: int, most: int) -> list[tuple[int, int]]:
    """Cut `count` tokens into the fewest windows of at most `most`, sizes as equal as they can be.

    At least one window, also for no tokens.
    """
    pieces = max(1, -(-count // most))
    return [(count * i // pieces, count * (i + 1) // pieces) for i in range(pieces)]
