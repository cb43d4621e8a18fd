"""LongLLMLingua: the tokens that the question makes less surprising.

Jiang et al. 2024 (arXiv 2310.06839), with a causal language model:

1. Passages are ranked by the perplexity of the question given the passage, the lowest first, and
   taken until 100 tokens more than the budget are used.
2. Each has a rate of its own: the budget's share of what was taken, raised for the first (by 0.3)
   and lowered for the last, evenly in between.
3. Segments of 200 tokens keep the tokens whose loss falls most when the question stands in front
   (contrastive perplexity), given what was kept before them.

Unlike in the paper, passages stay in their order, and a segment lies within one passage. The title
is read in front of the passage and is no candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.baselines.spans import Piece, selection
from grasp_cli.compression.tasks import Passage, Selection, Task
from grasp_cli.defaults import SCORE_DECIMALS, CompressDefaults
from grasp_cli.models.causal import CausalModel
from grasp_cli.models.losses import last_losses
from grasp_cli.pipe.errors import RecordError

Floats = npt.NDArray[np.float64]

RESTRICTION = " We can get the answer to this question in the given documents."
SPARE = 100  # tokens taken beyond the budget
SPREAD = 0.3  # of the passages' rates
SEGMENT = 200  # tokens


class _Read(NamedTuple):
    """A passage as tokens."""

    passage: Passage
    heading: list[int]
    ids: list[int]
    offsets: list[tuple[int, int]]


class LongLLMLingua:
    """Keeps `rate` of the tokens, or a token budget of them."""

    name = "longllmlingua"

    def __init__(self, model: CausalModel, options: CompressDefaults) -> None:
        self.model = model
        self.options = options

    def load(self) -> None:
        """Load the model."""
        _ = self.model.network

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Choose the tokens of each task, one after the other."""
        return [self._refusal(task) or self._selection(task) for task in tasks]

    def _refusal(self, task: Task) -> RecordError | None:
        """Where the question and two segments are more than the model holds."""
        count, positions = len(self._encode(task.question + RESTRICTION).ids), self.model.positions
        if positions is None or count + 2 * SEGMENT < positions:
            return None
        return RecordError(
            f"the question has {count} tokens and {self.model.name} holds {positions} in all; "
            "shorten it",
            kind="QuestionTooLong",
        )

    def _selection(self, task: Task) -> Selection:
        reads = [self._read(passage) for passage in task.passages if passage.sentences]
        total = sum(len(read.ids) for read in reads)
        budget = self._budget(total)
        ranked = sorted(
            range(len(reads)), key=lambda number: (self._surprise(task, reads[number]), number)
        )
        taken = within_budget([len(reads[number].ids) for number in ranked], budget + SPARE)
        shares = rates([len(reads[number].ids) for number in ranked[:taken]], budget)
        share_of = dict(zip(ranked, shares, strict=False))
        kept: list[list[Piece]] = [[] for _ in task.passages]
        before: list[int] = []
        for number in sorted(share_of):
            read, least = reads[number], int(number == ranked[0])
            pieces, ids = self._compressed(task, read, before, share_of[number], least)
            kept[read.passage.number] = pieces
            before += ids
        return selection(task, kept)

    def _read(self, passage: Passage) -> _Read:
        heading = self._encode(f"{passage.title}\n").ids if passage.title else []
        encoded = self._encode(passage.text)
        return _Read(passage, heading, encoded.ids, encoded.offsets)

    def _budget(self, total: int) -> float:
        rate, most = self.options.rate, self.options.max_tokens
        if rate is not None:
            return rate * total
        return float(total if most is None else min(most, total))

    def _surprise(self, task: Task, read: _Read) -> float:
        """The mean loss of the question, and of what it asks for, after the passage."""
        question = self._encode(task.question + RESTRICTION).ids
        losses = self._losses([*read.heading, *read.ids], question)
        return round(float(losses.mean()), SCORE_DECIMALS)

    def _compressed(
        self, task: Task, read: _Read, before: Sequence[int], share: float, least: int
    ) -> tuple[list[Piece], list[int]]:
        """What is kept of a passage, and the tokens that stand before the next one."""
        question = self._encode(f"{task.question}\n\n").ids
        shown = [*before, *read.heading]
        pieces: list[Piece] = []
        for start in range(0, len(read.ids), SEGMENT):
            ids = read.ids[start : start + SEGMENT]
            gains = self._losses(shown, ids) - self._losses(shown, ids, in_front=question)
            count = max(int(round(share * len(ids), 9)), least)
            chosen = np.sort(np.argsort(-gains, kind="stable")[:count])
            shown += [ids[place] for place in chosen]
            for place in chosen:
                begin, end = read.offsets[start + place]
                pieces.append(Piece(begin, end, float(gains[place])))
        return pieces, [*shown[len(before) :], *self._encode("\n\n").ids]

    def _losses(
        self, before: Sequence[int], ids: Sequence[int], in_front: Sequence[int] = ()
    ) -> Floats:
        """Losses of `ids`; of what stands before, the end, as far as the model holds it."""
        first = [*self.model.first_tokens, *in_front]
        positions = self.model.positions
        if positions is not None:
            room = max(0, positions - len(first) - len(ids))
            before = before[max(0, len(before) - room) :]
        return last_losses(self.model, [*first, *before, *ids], len(ids))

    def _encode(self, text: str) -> Any:
        return self.model.tokenizer.encode(text, add_special_tokens=False)


def within_budget(sizes: Sequence[int], budget: float) -> int:
    """How many of the first sizes are taken: the one that goes over the budget is the last."""
    for taken, size in enumerate(sizes, start=1):
        budget -= size
        if budget < 0:
            return taken
    return len(sizes)


def rates(sizes: Sequence[int], budget: float) -> list[float]:
    """The rate of each passage, the first ranked one the highest, all within 0 and 1."""
    base, last = budget / max(sum(sizes), 1), max(len(sizes) - 1, 1)
    spread = [SPREAD * (last - 2 * place) / last for place in range(len(sizes))]
    if len(sizes) == 1:
        spread = [0.0]
    return [min(1.0, max(0.0, base + more)) for more in spread]
