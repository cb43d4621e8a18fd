"""LLMLingua-2: the words that a token classifier would keep, whatever the question.

Pan et al. 2024 (arXiv 2403.12968). Each passage is read in windows that end with a sentence where
they can; a word's probability is the mean of its tokens'; of each window the words above the
percentile that the rate leaves are kept. That is llmlingua's `compress_prompt_llmlingua2`, except
that words are weighted by the model's own tokens, not by those of GPT-3.5.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.baselines.spans import Piece, selection
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import special_tokens
from grasp_cli.models.token_classifier import Row, TokenClassifier

Floats = npt.NDArray[np.float64]

_WINDOW_END = "."


class _Window(NamedTuple):
    task: int
    passage: int
    start: int  # the first of its tokens among the passage's
    end: int


class LLMLingua2:
    """Keeps `rate` of the words; of a token budget, the share that fits it."""

    name = "llmlingua2"

    def __init__(self, model: TokenClassifier, options: CompressDefaults) -> None:
        self.model = model
        self.options = options

    def load(self) -> None:
        """Load the model."""
        self.model.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Choose the words of a window of tasks."""
        encoded = [[self._encode(passage.text) for passage in task.passages] for task in tasks]
        windows = [
            _Window(task, passage, start, end)
            for task, members in enumerate(encoded)
            for passage, tokens in enumerate(members)
            for start, end in self._windows(tokens.tokens)
        ]
        kept: list[list[list[Piece]]] = [[[] for _ in task.passages] for task in tasks]
        rates = [self._rate(members) for members in encoded]
        for window, found in zip(windows, self._probabilities(encoded, windows), strict=True):
            tokens = encoded[window.task][window.passage]
            words = list(_words(tokens, window, found))
            kept[window.task][window.passage] += best_words(words, rates[window.task])
        return [selection(task, own) for task, own in zip(tasks, kept, strict=True)]

    def _encode(self, text: str) -> Any:
        return self.model.tokenizer.encode(text, add_special_tokens=False)

    def _rate(self, encoded: Sequence[Any]) -> float:
        if self.options.rate is not None:
            return self.options.rate
        most = self.options.max_tokens
        total = sum(len(tokens.ids) for tokens in encoded)
        return 1.0 if most is None else min(1.0, most / max(total, 1))

    def _windows(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Cut before the model's last position, after a full stop where there is one."""
        before, after = special_tokens(self.model.tokenizer)
        room, start = self.model.max_length - len(before) - len(after), 0
        while len(tokens) - start > room:
            stops = [place for place in range(start, start + room) if tokens[place] == _WINDOW_END]
            end = stops[-1] + 1 if stops else start + room
            yield start, end
            start = end
        if start < len(tokens):
            yield start, len(tokens)

    def _probabilities(
        self, encoded: Sequence[Sequence[Any]], windows: Sequence[_Window]
    ) -> list[Floats]:
        before, after = special_tokens(self.model.tokenizer)
        rows = []
        for window in windows:
            inside = encoded[window.task][window.passage].ids[window.start : window.end]
            ids = [*before, *inside, *after]
            rows.append(Row(ids, [0] * len(ids)))
        found: list[Floats] = [np.zeros(0)] * len(windows)
        for number, values in self.model.probabilities(rows):
            found[number] = values[len(before) : len(values) - len(after)]
        return found


class Word(NamedTuple):
    """A word of a window, the mean probability of its tokens, and how many they are."""

    start: int
    end: int
    score: float
    tokens: int


def _words(tokens: Any, window: _Window, probabilities: Floats) -> Iterator[Word]:
    """Words begin where the tokenizer begins one, and at each mark of punctuation."""
    groups: list[list[int]] = []
    for place in range(window.start, window.end):
        begins = not groups or tokens.word_ids[place] != tokens.word_ids[place - 1]
        if begins or tokens.tokens[place] in string.punctuation:
            groups.append([])
        groups[-1].append(place)
    for group in groups:
        own = probabilities[group[0] - window.start : group[-1] - window.start + 1]
        start, end = tokens.offsets[group[0]][0], tokens.offsets[group[-1]][1]
        yield Word(start, end, float(own.mean()), len(group))


def best_words(words: Sequence[Word], rate: float) -> list[Piece]:
    """The words above the percentile that the rate leaves, at least the best one."""
    if not words:
        return []
    scores = np.array([word.score for word in words])
    chosen = np.ones(len(words), bool)
    if rate < 1:
        each = np.repeat(scores, [word.tokens for word in words])
        chosen = scores > np.percentile(each, min(100, int(100 * (1 - rate) + 1)))
        chosen[int(scores.argmax())] |= not chosen.any()
    return [
        Piece(word.start, word.end, word.score)
        for word, is_chosen in zip(words, chosen.tolist(), strict=True)
        if is_chosen
    ]
