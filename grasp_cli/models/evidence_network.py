"""An encoder that reads question and passage together, and a head that scores evidence.

The input is `[CLS] question [SEP] title: passage [SEP]` (segments 0 and 1). The token states of
each sentence are averaged, and a head of two layers turns the mean of a unit beside the passage's
own state ([CLS]) into one logit. One pass reads a passage for all of its units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grasp_cli.models.batches import STEP, padded
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.models.trainable import trainable_encoder

HIDDEN = 256  # of the head


class Window(NamedTuple):
    """One input: a question and as many whole sentences of a passage as fit."""

    ids: list[int]
    second: int  # where the second segment begins
    spans: list[tuple[int, int, int]]  # (sentence, start, end): token ranges in `ids`


class States(NamedTuple):
    """What one batch gives; shapes (spans, width), (windows, width), (spans, width)."""

    means: Any  # of the token states of each span
    firsts: Any  # the state of each window's first token
    inputs: Any  # means of what each span is before the first layer; without gradient


class EvidenceNetwork:
    """Encoder and head. Usable for scoring (`torch.inference_mode`) and for training."""

    def __init__(self, base: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        torch = torch_runtime(threads)
        self.base = base
        self.device = device
        self.encoder = trainable_encoder(base, "sdpa")
        width = self.encoder.config.hidden_size
        self.head = torch.nn.Sequential(
            torch.nn.Linear(2 * width, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, 1)
        )
        self.encoder.to(device).eval()
        self.head.to(device).eval()

    def on(self, device: str) -> None:
        """Move to another device."""
        self.device = device
        self.encoder.to(device)
        self.head.to(device)

    def to(self, dtype: str) -> None:
        """Compute the encoder in another number format; the head stays in float32."""
        self.encoder.to(getattr(torch_runtime(), dtype))

    @property
    def width(self) -> int:
        """The length of a state."""
        return int(self.encoder.config.hidden_size)

    @property
    def positions(self) -> int:
        """Most tokens of an input, special ones included."""
        return usable_positions(self.encoder.config)

    def states(self, windows: Sequence[Window]) -> States:
        """The states of sentences and passages, in one batch.

        Parameters
        ----------
        windows
            Inputs of one batch; they are padded to the longest.

        Returns
        -------
        States
            Float32, on the network's device; spans are those of all windows in order.
        """
        torch = torch_runtime()
        longest = max(len(window.ids) for window in windows)
        length = min(-(-longest // STEP) * STEP, self.positions)
        rows = sum(len(window.spans) for window in windows)
        owners = torch.full((len(windows), length), rows)  # the last row takes what is no text
        sizes = torch.ones(rows + 1)
        row = 0
        for number, window in enumerate(windows):
            for _, start, end in window.spans:
                owners[number, start:end] = row
                sizes[row] = max(1, end - start)
                row += 1
        segments = [[0] * w.second + [1] * (len(w.ids) - w.second) for w in windows]
        texts = [(window.ids, own) for window, own in zip(windows, segments, strict=True)]
        inputs = padded(texts, length, self.encoder.config, self.device)
        layers = self.encoder(**inputs, output_hidden_states=True).hidden_states
        places, counts = owners.to(self.device).view(-1), sizes.to(self.device)[:, None]

        def means(layer: Any) -> Any:
            sums = torch.zeros((rows + 1, self.width), device=self.device)
            return (sums.index_add(0, places, layer.reshape(-1, self.width)) / counts)[:rows]

        hidden = layers[-1].float()
        return States(means(hidden), hidden[:, 0], means(layers[0].detach().float()))

    def logits(self, units: Any, passages: Any) -> Any:
        """Logits of units, shape (units,), of their states and their passages' states."""
        torch = torch_runtime()
        return self.head(torch.cat([units, passages], dim=1))[:, 0]


def windows(
    question: list[int],
    title: list[int],
    passage: list[int],
    bounds: Sequence[tuple[int, int]],
    *,
    special: tuple[int, int],
    positions: int,
) -> Iterator[Window]:
    """Cut a passage into inputs of whole sentences that overlap by up to a quarter.

    Parameters
    ----------
    question, title, passage
        Token ids without special tokens; question and title leave at least half of the positions.
    bounds
        [start, end) of each sentence in `passage`.
    special
        The ids of [CLS] and [SEP].
    positions
        Most tokens of an input.

    They overlap by whole sentences, as many as fit in a quarter of an input and leave room for the
    next; where none does, not at all. A sentence that is longer than an input is spread over
    several of them, which overlap by a quarter.
    """
    cls, sep = special
    before = [cls, *question, sep, *title]
    room = positions - len(before) - 1
    for start, end in _stretches(bounds, len(passage), room):
        shift = len(before) - start
        spans = [
            (number, max(first, start) + shift, min(last, end) + shift)
            for number, (first, last) in enumerate(bounds)
            if first < end and last > start
        ]
        yield Window([*before, *passage[start:end], sep], len(question) + 2, spans)


def _stretches(
    bounds: Sequence[tuple[int, int]], tokens: int, room: int
) -> Iterator[tuple[int, int]]:
    """[start, end) of the windows in tokens of the passage; one window where all of it fits."""
    if tokens <= room:
        yield 0, tokens
        return
    overlap = room // 4
    edges = sorted({start for start, _ in bounds} | {end for _, end in bounds} | {0, tokens})

    def reach(start: int) -> int:
        return max((edge for edge in edges if start < edge <= start + room), default=start + room)

    start, end = 0, reach(0)
    while end < tokens:
        yield start, end
        # back to a sentence from which the next window reads on; inside a long one, anywhere
        near = [edge for edge in edges if max(start + 1, end - overlap) <= edge < end]
        inside = end if end in edges else end - overlap
        start = next((edge for edge in near if reach(edge) > end), inside)
        end = reach(start)
    yield start, end
