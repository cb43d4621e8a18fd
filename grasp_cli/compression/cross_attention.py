"""Coarse scores from an encoder-decoder's cross-attention: QUITO-X at sentence level.

A document's sentences are tokenised into one flat array and read in consecutive windows of at
most 510 tokens less those of the question; the input is window, question, end token. A token's
score is the attention that the decoder's first step pays to it (last layer, mean over the heads).

Attention sums to one over an input, so the same token gets 20 times as much in a window of 25 as
in one of 500. Weights are therefore multiplied by the input's length before smoothing: uniform
attention gives 1 everywhere, however the document was cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression import quitox
from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.seq2seq import Seq2Seq
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]

ROOM = 510  # tokens of a window and the question together


class _Tokens(NamedTuple):
    """A document's token ids and where its sentences are among them."""

    ids: list[int]
    bounds: list[tuple[int, int]]


class CrossAttention:
    """The coarse filter on an encoder-decoder."""

    def __init__(self, model: Seq2Seq, options: CompressDefaults) -> None:
        self.model = model
        self.options = options

    def load(self) -> None:
        """Load the model."""
        self.model.load()

    def refusal(self, task: Task) -> RecordError | None:
        """Why this question cannot be asked: it leaves no room for a window."""
        count = len(self._question(task.question))
        if count < ROOM:
            return None
        return RecordError(
            f"the question has {count} tokens and {self.model.name} reads {ROOM} with at least "
            f"one of the document, so the limit is {ROOM - 1}; shorten it",
            kind="QuestionTooLong",
        )

    def scores(self, tasks: Sequence[Task]) -> list[list[Floats]]:
        """Rounded scores of every sentence: per task, per passage, shape (sentences,).

        Windows of all tasks are batched together; equal (question, text) are read once.
        """
        texts: dict[str, _Tokens] = {}
        pairs: dict[tuple[str, str], Floats] = {}
        for task in tasks:
            for passage in task.passages:
                if passage.text not in texts:
                    texts[passage.text] = self._tokens(passage)
                pairs.setdefault(
                    (task.question, passage.text), np.zeros(len(texts[passage.text].ids))
                )
        self._attend(texts, pairs)
        scored = {
            pair: quitox.sentence_scores(
                quitox.smooth(values, self.options.gaussian_sigma), texts[pair[1]].bounds
            )
            for pair, values in pairs.items()
        }
        return [
            [scored[task.question, passage.text] for passage in task.passages] for task in tasks
        ]

    def _attend(self, texts: dict[str, _Tokens], pairs: dict[tuple[str, str], Floats]) -> None:
        """Fill the values of `pairs`, one per token of the text."""
        owners, inputs = [], []
        for pair in pairs:
            ids, question = texts[pair[1]].ids, self._question(pair[0])
            for start, end in windows(len(ids), ROOM - len(question)):
                owners.append((pair, start, end))
                inputs.append([*ids[start:end], *question, self.model.end])
        for number, weights in self.model.attention(inputs):
            pair, start, end = owners[number]
            pairs[pair][start:end] = weights[: end - start] * len(weights)

    def _question(self, question: str) -> list[int]:
        ids: list[int] = self.model.tokenizer.encode(question, add_special_tokens=False).ids
        return ids

    def _tokens(self, passage: Passage) -> _Tokens:
        sentences = [passage.sentence(position) for position in range(len(passage.sentences))]
        found = self.model.tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
        ids = [token for encoding in found for token in encoding.ids]
        edges = accumulate((len(encoding.ids) for encoding in found), initial=0)
        return _Tokens(ids, list(pairwise(edges)))


def windows(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Consecutive windows of `most` tokens, the last one shorter; none for no tokens."""
    for start in range(0, count, most):
        yield start, min(count, start + most)
