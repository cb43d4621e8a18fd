"""An extractive reader: a model that answers a question with a span of a text, or with none.

As `run_qa.py` of transformers reads SQuAD 2.0, which is how ASQA's Disambig-F1 is defined (a
RoBERTa trained on SQuAD 2.0): windows of 384 tokens that overlap by 128; a span's score is the sum
of its first token's start logit and its last one's end logit, over at most 30 tokens of the text;
the first position of a window stands for "no answer", and its lowest score over the windows wins
where it is above the best span's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.models.batches import batches, padded
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.positions import usable_positions
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.text.tokens import load_tokenizer

Floats = npt.NDArray[np.float64]

WINDOW = 384  # tokens, question and special ones included
OVERLAP = 128
LONGEST_ANSWER = 30  # tokens
_BATCH_TOKENS = 4096


class _Window(NamedTuple):
    """Part of a text as the model reads it, with the question in front."""

    pair: int
    ids: list[int]
    segments: list[int]
    spans: dict[int, tuple[int, int]]  # position -> characters of the text


class _Best(NamedTuple):
    score: float
    start: int  # characters of the text
    end: int


class ExtractiveReader(LocalModel):
    """A question answering model (`AutoModelForQuestionAnswering`) in a local directory."""

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """The answers to (question, text) pairs, as slices of the texts; "" where there is none."""
        self._refuse_long(pairs)
        best = [_Best(-np.inf, 0, 0)] * len(pairs)
        none = [np.inf] * len(pairs)
        windows = [window for n, pair in enumerate(pairs) for window in self._windows(n, *pair)]
        for window, starts, ends in self._read(windows):
            found = best_span(window.spans, starts, ends)
            best[window.pair] = max(best[window.pair], found, key=lambda one: one.score)
            none[window.pair] = min(none[window.pair], float(starts[0] + ends[0]))
        return [
            text[one.start : one.end] if one.score >= nothing else ""
            for (_, text), one, nothing in zip(pairs, best, none, strict=True)
        ]

    def _refuse_long(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Raise `ProcessingError` where a question leaves too little of a window for its text."""
        most = min(WINDOW, usable_positions(self._model.config)) - OVERLAP
        for question, _ in pairs:
            if (size := len(self.tokenizer.encode(question, "").ids)) >= most:
                raise ProcessingError(
                    f'{self.name}: the question "{question[:60]}…" takes {size} tokens, and fewer '
                    f"than {most} leave room for the text it is about; shorten it"
                )

    def _windows(self, number: int, question: str, text: str) -> Iterator[_Window]:
        encoded = self._cutting.encode(question, text)
        for part in (encoded, *encoded.overflowing):
            spans = {
                position: span
                for position, (sequence, span) in enumerate(
                    zip(part.sequence_ids, part.offsets, strict=True)
                )
                if sequence == 1
            }
            yield _Window(number, part.ids, part.type_ids, spans)

    @cached_property
    def _cutting(self) -> Any:
        """A tokenizer that cuts texts into windows."""
        tokenizer = load_tokenizer(self.path)
        most = min(WINDOW, usable_positions(self._model.config))
        tokenizer.enable_truncation(most, stride=OVERLAP, strategy="only_second")
        return tokenizer

    def _read(self, windows: Sequence[_Window]) -> Iterator[tuple[_Window, Floats, Floats]]:
        """Each window with its start and end logits, shape (tokens,)."""
        torch = torch_runtime(self._threads)
        for length, members in batches([len(one.ids) for one in windows], _BATCH_TOKENS):
            rows = [(windows[n].ids, windows[n].segments) for n in members]
            inputs = padded(rows, length, self._model.config, self.device)
            with torch.inference_mode():
                output = self._model(**inputs)
            starts, ends = output.start_logits.double().cpu(), output.end_logits.double().cpu()
            for place, number in enumerate(members):
                size = len(windows[number].ids)
                yield windows[number], starts[place, :size].numpy(), ends[place, :size].numpy()

    @cached_property
    def _model(self) -> Any:
        return self.trained(
            "AutoModelForQuestionAnswering",
            "question answering model",
            "choose one trained on SQuAD 2.0",
        )


def best_span(spans: dict[int, tuple[int, int]], starts: Floats, ends: Floats) -> _Best:
    """The best span of a window; the first of equals."""
    if not spans:
        return _Best(-np.inf, 0, 0)
    first, last = min(spans), max(spans)
    count = last - first + 1
    scores = starts[first : last + 1, None] + ends[None, first : last + 1]
    length = np.arange(count)[None, :] - np.arange(count)[:, None]
    scores = np.where((length >= 0) & (length < LONGEST_ANSWER), scores, -np.inf)
    start, end = divmod(int(scores.argmax()), count)
    return _Best(float(scores[start, end]), spans[first + start][0], spans[first + end][1])


def open_reader(name: str, threads: int | None = None) -> ExtractiveReader:
    """The model called `name` (a name or a directory), found but not loaded."""
    from grasp_cli.models.locate import find

    return ExtractiveReader(Path(find(name)), threads=threads)
