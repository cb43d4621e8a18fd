"""Sentence scores from a causal model's attention, without any training.

The model reads a document and then the question. A token's score is the attention that the last
position pays to it: last layer, mean over the heads, times the input's length, so that windows of
different length compare. A sentence has the greatest score of its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression import quitox
from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.compression.token_relevance import token_bounds
from grasp_cli.models.causal import CausalModel
from grasp_cli.models.encoder import even_windows
from grasp_cli.models.last_position import last_position
from grasp_cli.pipe.errors import ProcessingError, RecordError

Floats = npt.NDArray[np.float64]

_INPUT = 2048  # tokens of an input, unless asked otherwise or more than the model can hold


class LastAttention:
    """The scorer of method `attention`."""

    def __init__(self, model: CausalModel, max_input_tokens: int | None = None) -> None:
        self.model = model
        self.max_input_tokens = max_input_tokens

    def load(self) -> None:
        """Load the model."""
        _ = self.model.network

    def refusal(self, task: Task) -> RecordError | None:
        """Where the question leaves less than half of an input."""
        size = len(self.model.first_tokens) + len(self._question(task.question))
        if 2 * size <= self._limit:
            return None
        return RecordError(
            f"the question takes {size} of the {self._limit} tokens that {self.model.name} reads; "
            "shorten it",
            kind="QuestionTooLong",
        )

    def scores(self, tasks: Sequence[Task]) -> list[list[Floats]]:
        """Rounded scores of every sentence: per task, per passage, shape (sentences,)."""
        known: dict[tuple[str, str], Floats] = {}
        for task in tasks:
            for passage in task.passages:
                key = (task.question, passage.text)
                if key not in known:
                    known[key] = self._scores(task.question, passage)
        return [[known[task.question, passage.text] for passage in task.passages] for task in tasks]

    def _scores(self, question: str, passage: Passage) -> Floats:
        found = self.model.tokenizer.encode(passage.text, add_special_tokens=False)
        bounds = token_bounds([start for start, _ in found.offsets], passage)
        before, asked = self.model.first_tokens, self._question(question)
        values = np.zeros(len(found.ids))
        room = self._limit - len(before) - len(asked)
        for start, end in even_windows(len(found.ids), room):
            tokens = [*before, *found.ids[start:end], *asked]
            weights = last_position(self.model.network, tokens)
            if not np.isfinite(weights).all():
                raise ProcessingError(f"{self.model.name}: the attention is not finite")
            first = len(before)
            values[start:end] = weights[first : first + end - start] * len(tokens)
        return quitox.sentence_scores(values, bounds)

    def _question(self, question: str) -> list[int]:
        text = f"\n\nQuestion: {question}\nAnswer:"
        ids: list[int] = self.model.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    @property
    def _limit(self) -> int:
        asked = self.max_input_tokens or _INPUT
        return min(self.model.positions or asked, asked)
