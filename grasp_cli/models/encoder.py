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
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import batches
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.pooling import Pooling
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float32]

_BATCH_TOKENS = 4096  # larger batches fall out of the processor's cache and are slower


class Encoder(LocalModel):
    """An encoder model in a local directory (sentence-transformers or plain transformers layout).

    Pooling and normalisation are those that the directory's own files state; a directory without
    such files (Contriever, say) is mean-pooled and not normalised.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        dtype: str = "float32",
        batch_tokens: int = _BATCH_TOKENS,
        remember: int = 0,
    ) -> None:
        super().__init__(path, threads=threads, dtype=dtype)
        self._batch_tokens = batch_tokens
        self._remember = remember  # how many vectors are kept for texts that come again
        self._known: dict[str, Floats] = {}

    @cached_property
    def _model(self) -> Any:
        torch = torch_runtime(self._threads)
        transformers = quiet_transformers()
        local = {"local_files_only": True, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(self.path, **local)
        kind, attention = transformers.AutoModel, "sdpa"
        if config.is_encoder_decoder:  # T5: its encoder alone
            kind, attention = transformers.AutoModelForTextEncoding, "eager"
        options = {"dtype": getattr(torch, self.dtype), "attn_implementation": attention, **local}
        return kind.from_pretrained(self.path, **options).eval()

    @cached_property
    def _pooling(self) -> Pooling:
        return Pooling.of(self.path)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._pooling.dimension(int(self._model.config.hidden_size))

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

    def _vectors(self, texts: list[str]) -> Floats:
        windows, owners = self._windows(texts)
        pooled = len(self._pooling.modes) * int(self._model.config.hidden_size)
        vectors = np.zeros((len(texts), pooled), np.float32)
        weights = np.zeros(len(texts), np.float32)
        for number, states in self.states(windows):
            vector, size = self._pooling.pool(states), len(windows[number])
            vectors[owners[number]] += vector * max(size, 1)
            weights[owners[number]] += max(size, 1)
        vectors /= np.maximum(weights, 1)[:, None]
        return self._pooling.finish(vectors)

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
        torch = torch_runtime(self._threads)
        before, after = self.special_tokens
        sizes = [len(window) + len(before) + len(after) for window in windows]
        for length, members in batches(sizes, self._batch_tokens):
            ids = torch.zeros((len(members), length), dtype=torch.long)
            mask = torch.zeros((len(members), length), dtype=torch.long)
            for row, number in enumerate(members):
                ids[row, : sizes[number]] = torch.tensor([*before, *windows[number], *after])
                mask[row, : sizes[number]] = 1
            with torch.inference_mode():
                hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            for row, number in enumerate(members):
                states = hidden[row, : sizes[number]]
                if not bool(torch.isfinite(states).all()):
                    raise ProcessingError(
                        f"{self.name}: the model gave values that are not finite ({self.dtype})"
                    )
                yield number, states


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
