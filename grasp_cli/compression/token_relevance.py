"""Coarse scores from a sentence encoder: how near each contextual token state is to the question.

The embedded profile's stand-in for T5's cross-attention: the dot product of the question's
normalised vector with each normalised token state of the document. The question is not in the
input, so a document is read once for any number of questions; windows use all positions of the
model. The title is read in front of the text, as context, and has no score of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression import quitox
from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import Encoder, even_windows
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]


class _Tokens(NamedTuple):
    """Token ids of title and text, and where the sentences are among them."""

    ids: list[int]
    text_start: int  # tokens before are the title's
    bounds: list[tuple[int, int]]  # of each sentence, counted from text_start


class TokenRelevance:
    """The coarse filter on an encoder."""

    def __init__(self, encoder: Encoder, options: CompressDefaults) -> None:
        self.encoder = encoder
        self.options = options

    def load(self) -> None:
        """Load the model."""
        self.encoder.embed([""])

    def refusal(self, task: Task) -> RecordError | None:
        """Why this question cannot be asked: the mean of its windows is no question's vector."""
        count = len(self.encoder.tokenizer.encode(task.question, add_special_tokens=False).ids)
        if count <= self.encoder.room:
            return None
        return RecordError(
            f"the question has {count} tokens and {self.encoder.name} reads {self.encoder.room}; "
            "shorten it",
            kind="QuestionTooLong",
        )

    def scores(self, tasks: Sequence[Task]) -> list[list[Floats]]:
        """Rounded scores of every sentence: per task, per passage, shape (sentences,).

        A passage that several tasks share is read once.
        """
        questions = self.encoder.embed([task.question for task in tasks])
        askers: dict[tuple[str, str], list[int]] = {}
        texts: dict[tuple[str, str], _Tokens] = {}
        for number, task in enumerate(tasks):
            for passage in task.passages:
                key = (passage.title, passage.text)
                askers.setdefault(key, []).append(number)
                if key not in texts:
                    texts[key] = self._tokens(passage)
        raw = self._similarities(texts.values(), [questions[who].T for who in askers.values()])
        found = {
            (key, asker): self._sentences(item, values[:, column])
            for (key, who), item, values in zip(askers.items(), texts.values(), raw, strict=True)
            for column, asker in enumerate(who)
        }
        return [
            [found[(passage.title, passage.text), number] for passage in task.passages]
            for number, task in enumerate(tasks)
        ]

    def _sentences(self, item: _Tokens, values: Floats) -> Floats:
        smoothed = quitox.smooth(values[item.text_start :], self.options.gaussian_sigma)
        return quitox.sentence_scores(smoothed, item.bounds)

    def _similarities(
        self, tokens: Iterable[_Tokens], questions: Sequence[npt.NDArray[np.float32]]
    ) -> list[Floats]:
        """Per text the cosines, shape (tokens, questions), of questions given as (d, questions)."""
        items = list(tokens)
        raw = [
            np.zeros((len(item.ids), q.shape[1])) for item, q in zip(items, questions, strict=True)
        ]
        windows = list(_windows(items, self.encoder.room))
        contents = [items[owner].ids[start:end] for owner, start, end in windows]
        skip = len(self.encoder.special_tokens[0])
        for number, states in self.encoder.states(contents):
            owner, start, end = windows[number]
            inner = states[skip : skip + end - start].numpy()
            lengths = np.maximum(np.linalg.norm(inner, axis=1, keepdims=True), 1e-12)
            # One by one: a product with two columns rounds otherwise than one with a single column,
            # and who else asks about a passage must not change a bit.
            products = np.stack([inner @ question for question in questions[owner].T], axis=1)
            raw[owner][start:end] = products / lengths
        return raw

    def _tokens(self, passage: Passage) -> _Tokens:
        title = self._encode(passage.title)[0] if passage.title else []
        ids, starts = self._encode(passage.text)
        return _Tokens(title + ids, len(title), token_bounds(starts, passage))

    def _encode(self, text: str) -> tuple[list[int], list[int]]:
        encoding = self.encoder.tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]


def token_bounds(starts: Sequence[int], passage: Passage) -> list[tuple[int, int]]:
    """[start, end) among the tokens of each sentence, by the characters where tokens start."""
    edges = np.asarray([(s.start, s.end) for s in passage.sentences], dtype=np.int64).reshape(-1, 2)
    found = np.searchsorted(np.asarray(starts, dtype=np.int64), edges)
    return [(int(start), int(end)) for start, end in found]


def _windows(tokens: list[_Tokens], room: int) -> Iterator[tuple[int, int, int]]:
    for owner, item in enumerate(tokens):
        for start, end in even_windows(len(item.ids), room):
            yield owner, start, end
