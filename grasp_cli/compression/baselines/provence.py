"""Provence: one pass over question and passage says of each token whether it is to be kept.

Chirkova et al. 2025 (arXiv 2501.16214), and its open variants (OpenProvence). A sentence's score
is the mean of its tokens' probabilities; published thresholds are 0.1 (cautious) and 0.5 (strong).
The title stands in front of the passage, as context, and is no candidate. Long passages are read
in windows.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Passage, Task, Unit
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.encoder import even_windows
from grasp_cli.models.token_classifier import PROVENCE, Row, TokenClassifier
from grasp_cli.pipe.errors import RecordError
from grasp_cli.text.spans import skip_space

Floats = npt.NDArray[np.float64]

_SECOND = 1  # of the two texts of an input


class _Piece(NamedTuple):
    """A passage, or a window of one, as it is read beside a question."""

    task: int
    passage: Passage
    start: int  # in the passage with its title in front
    encoded: Any

    def tokens(self, probabilities: Floats) -> list[tuple[int, float]]:
        """Where in the passage's text each of its tokens begins, and its probability."""
        text, shift = _titled(self.passage), len(_heading(self.passage))
        found = []
        encoded = zip(self.encoded.offsets, self.encoded.sequence_ids, strict=True)
        for ((start, end), owner), value in zip(encoded, probabilities.tolist(), strict=True):
            if owner == _SECOND:
                start = skip_space(text, start + self.start, end + self.start)
                found.append((start - shift, value))
        return found


class ProvenceClassifier:
    """A span classifier that reads a passage once for all of its sentences."""

    name = "provence"

    def __init__(self, model: TokenClassifier) -> None:
        self.model = model
        self.cut_tokens: list[int] = []  # passages are read whole

    def load(self) -> None:
        """Load the model."""
        self.model.load()

    def refusal(self, task: Task) -> RecordError | None:
        """Where the question leaves less than half of an input."""
        room, limit = self._room(self._question(task)), self.model.max_length
        if 2 * room >= limit:
            return None
        return RecordError(
            f"the question takes {limit - room} of the {limit} tokens that {self.model.name} "
            "reads; shorten it",
            kind="QuestionTooLong",
        )

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """See `SpanClassifier.score`; a unit's score is the mean over its sentences' tokens."""
        pieces = [
            _Piece(number, passage, shift, self.model.tokenizer.encode(question, text))
            for number, task in enumerate(tasks)
            for question in [self._question(task)]
            for passage in task.passages
            for shift, text in self._pieces(question, _titled(passage))
        ]
        rows = [Row(piece.encoded.ids, piece.encoded.type_ids) for piece in pieces]
        values = dict(self.model.probabilities(rows))
        tokens: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for row, piece in enumerate(pieces):
            own = tokens.setdefault((piece.task, piece.passage.number), [])
            own += piece.tokens(values[row])
        return [
            np.array([_mean(task, unit, tokens[number, unit.passage]) for unit in members])
            for number, (task, members) in enumerate(zip(tasks, units, strict=True))
        ]

    def _question(self, task: Task) -> str:
        """The question as the model was trained on it."""
        return normalised(task.question) if self.model.layout == PROVENCE else task.question

    def _room(self, question: str) -> int:
        return self.model.max_length - len(self.model.tokenizer.encode(question, "").ids)

    def _pieces(self, question: str, text: str) -> list[tuple[int, str]]:
        """The text, or windows of it that fit beside the question, with where they begin."""
        offsets = self.model.tokenizer.encode(text, add_special_tokens=False).offsets
        windows = even_windows(len(offsets), max(1, self._room(question)))
        if len(windows) == 1:
            return [(0, text)]
        spans = [(offsets[start][0], offsets[end - 1][1]) for start, end in windows]
        return [(start, text[start:end]) for start, end in spans]


def normalised(question: str) -> str:
    """Lower case, without ASCII punctuation, single spaces: how Provence reads questions."""
    bare = question.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(bare.split())


def _heading(passage: Passage) -> str:
    return f"{passage.title}\n" if passage.title else ""


def _titled(passage: Passage) -> str:
    return _heading(passage) + passage.text


def _mean(task: Task, unit: Unit, tokens: Sequence[tuple[int, float]]) -> float:
    """The mean over the tokens that begin in the unit's sentences; 0 without any."""
    sentences = [task.passages[unit.passage].sentences[position] for position in unit.sentences]
    inside = [v for start, v in tokens if any(s.start <= start < s.end for s in sentences)]
    return round(float(np.mean(inside)), SCORE_DECIMALS) if inside else 0.0
