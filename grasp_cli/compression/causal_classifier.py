"""EP-EXIT's span classifier: a causal model asked whether a unit helps to answer the question.

r(u) = P(Yes) / (P(Yes) + P(No)) of the token after the prompt of `exit_prompt`, which holds the
question, the unit's document and the unit.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.exit_prompt import NO, YES, Context, contexts, nearest, prompt, windows
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.causal import CausalModel, Head
from grasp_cli.models.shared_prefix import PrefixScorer, Tokens
from grasp_cli.pipe.errors import ProcessingError, RecordError

Floats = npt.NDArray[np.float64]

SCOPES = ("document", "all")
# Of a probability; int8 rounds activations by what else is in the batch.
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.03, "float16": 0.03, "int8": 0.05}
_TEXT_AT_ONCE = 1 << 20  # characters that are tokenised together
_SEED = 0  # of the choice of units that are verified


class CausalClassifier:
    """Scores units with a causal model, each document read once for all of its units.

    `cut_tokens` holds, for each task of the last call, how many tokens were cut from inputs that
    were too long for the model: from their contexts, and from units too long by themselves.
    """

    name = "causal"

    def __init__(
        self,
        model: CausalModel,
        *,
        scope: str = "document",
        max_input_tokens: int | None = None,
        verify: int = 0,
    ) -> None:
        self.model = model
        self.scope = scope
        self.max_input_tokens = max_input_tokens
        self.verify = verify  # units of each call that are scored a second time, plainly
        self.cut_tokens: list[int] = []
        self._known: dict[int, int] = {}  # token ids, so that equal ones are one object

    def load(self) -> None:
        """Load the model."""
        _ = self._scorer

    @cached_property
    def _head(self) -> Head:
        return Head(self.model, [self.model.token(YES), self.model.token(NO)])

    @cached_property
    def _scorer(self) -> PrefixScorer:
        return PrefixScorer(self.model.network, self._head.rows)

    @cached_property
    def limit(self) -> int | None:
        """Most tokens of an input: the model's own limit or the one asked for."""
        given = [size for size in (self.model.positions, self.max_input_tokens) if size]
        return min(given, default=None)

    def refusal(self, task: Task) -> RecordError | None:
        """Where the question leaves less than half of an input, even without context."""
        if self.limit is None:
            return None
        size = len(self._tokens([prompt(task.question, "", "")])[0])
        if 2 * size <= self.limit:
            return None
        return RecordError(
            f"the question takes {size} tokens with its instruction, and an input of "
            f"{self.model.name} may have {self.limit}; shorten it",
            kind="QuestionTooLong",
        )

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """See `SpanClassifier.score`."""
        asked = [
            [group for part in self._parts(task, members) for group in self._groups(task, *part)]
            for task, members in zip(tasks, units, strict=True)
        ]
        self.cut_tokens = [sum(group.cut for group in groups) for groups in asked]
        results = [np.zeros(len(members)) for members in units]
        for batch in self._passes(asked):
            scored = self._probabilities([group.prompts for _, group in batch])
            for (number, group), values in zip(batch, scored, strict=True):
                results[number][group.places] = values
        return [np.round(values, SCORE_DECIMALS) for values in results]

    def _passes(self, asked: list[list[_Group]]) -> Iterator[list[tuple[int, _Group]]]:
        """Groups that share batches: all of them, but a task's own in float32.

        There the same input gives the same output in every bit, whatever else is in the window.
        """
        numbered = [[(n, group) for group in groups] for n, groups in enumerate(asked)]
        if self.model.placement.dtype == "float32":
            yield from numbered
        else:
            yield [pair for pairs in numbered for pair in pairs]

    def _probabilities(self, groups: list[list[Tokens]]) -> list[Floats]:
        found = [self._ratio(products) for products in self._scorer.score(groups)]
        if self.verify:
            self._check(groups, found)
        return found

    def _ratio(self, products: Any) -> Floats:
        """P(Yes) / (P(Yes) + P(No)): a logistic curve of the difference of the two logits."""
        logits = self._head.logits(products).double().numpy()
        return np.asarray(1 / (1 + np.exp(logits[:, 1] - logits[:, 0])), np.float64)

    def _check(self, groups: list[list[Tokens]], found: list[Floats]) -> None:
        """Score a few units plainly and compare; see `--verify-prefix`."""
        places = [(group, i) for group, prompts in enumerate(groups) for i in range(len(prompts))]
        chosen = random.Random(_SEED).sample(places, min(self.verify, len(places)))
        kinds = (self.model.placement.dtype, self.model.quantize)
        tolerance = max(TOLERANCE.get(kind, 0) for kind in kinds)
        for group, i in chosen:
            plain = float(self._ratio(self._head.plain(groups[group][i]))[0])
            if not abs(plain - found[group][i]) <= tolerance:
                raise ProcessingError(
                    f"--verify-prefix: {self.model.name} gives {plain:.5f} alone and "
                    f"{found[group][i]:.5f} on a shared prefix (tolerance {tolerance}): report "
                    "it, with the model and the version of transformers"
                )

    def _parts(self, task: Task, units: Sequence[Unit]) -> Iterator[tuple[Context, list[_Asked]]]:
        """The units by the context they are judged in."""
        found: dict[Context | int, tuple[Context, list[_Asked]]] = {}
        given = contexts(task.passages, self.scope)
        for number, unit in enumerate(units):
            passage, context = task.passages[unit.passage], given[unit.passage]
            first, last = (passage.sentences[unit.sentences[i]] for i in (0, -1))
            middle = context.starts[unit.passage] + (first.start + last.end) / 2
            key = unit.passage if self.scope == "document" else 0
            asked = _Asked(number, unit.text(passage), middle)
            found.setdefault(key, (context, []))[1].append(asked)
        yield from found.values()

    def _groups(self, task: Task, context: Context, asked: list[_Asked]) -> Iterator[_Group]:
        """The prompts of units in one context, by the window of it that they are shown."""
        ends = self._ends(context.text) if self.limit else []
        # A context too long by itself is not tokenised whole for each of its many units.
        if self.limit is None or len(ends) < self.limit:
            prompts = self._tokens([prompt(task.question, context.text, one.unit) for one in asked])
            if self.limit is None or max(map(len, prompts)) <= self.limit:
                yield _Group([one.place for one in asked], prompts, 0)
                return
        bare = self._tokens([prompt(task.question, "", one.unit) for one in asked])
        modest = [len(tokens) for tokens in bare if 2 * len(tokens) <= self.limit]
        by_room: dict[int, list[_Asked]] = {}
        for one, tokens in zip(asked, bare, strict=True):
            size = max(modest) if 2 * len(tokens) <= self.limit else len(tokens)
            by_room.setdefault(max(0, self.limit - size), []).append(one)
        for room, members in by_room.items():
            yield from self._windowed(task.question, context.text, ends, members, room)

    def _windowed(
        self, question: str, text: str, ends: list[int], asked: list[_Asked], room: int
    ) -> Iterator[_Group]:
        """Prompts with `room` tokens of context around each unit, fewer where that is too long."""
        found = windows(ends, room) if room else [(0, 0)]
        members: dict[int, list[_Asked]] = {}
        for one in asked:
            members.setdefault(nearest(found, one.middle), []).append(one)
        for number, own in members.items():
            start, end = found[number]
            prompts = self._tokens([prompt(question, text[start:end], one.unit) for one in own])
            over = max(map(len, prompts)) - (self.limit or 0)
            if over > 0 and room:  # tokens at the seams
                yield from self._windowed(question, text, ends, own, max(0, room - over))
                continue
            shown = bisect_right(ends, end) - bisect_right(ends, start)
            cut = (len(ends) - shown) * len(own)
            if over > 0:
                shortened = [self._shortened(question, one.unit) for one in own]
                prompts = [tokens for tokens, _ in shortened]
                cut += sum(lost for _, lost in shortened)
            yield _Group([one.place for one in own], prompts, cut)

    def _shortened(self, question: str, unit: str) -> tuple[Tokens, int]:
        """Without context, and with only the beginning of a unit that is too long by itself.

        Returns the prompt and how many tokens the unit lost.
        """
        ends, tokens = self._ends(unit), self._tokens([prompt(question, "", unit)])[0]
        keep = len(ends)
        while self.limit and len(tokens) > self.limit and keep > 0:
            keep = max(0, keep - (len(tokens) - self.limit))
            text = unit[: ends[keep - 1]] if keep else ""
            tokens = self._tokens([prompt(question, "", text)])[0]
        return tokens, len(ends) - keep

    def _ends(self, text: str) -> list[int]:
        """Where each token of `text` ends, in characters."""
        found = self.model.tokenizer.encode(text, add_special_tokens=False)
        return [end for _, end in found.offsets]

    def _tokens(self, texts: list[str]) -> list[Tokens]:
        """Whole prompts as tokens, one BOS in front of each."""
        known, first = self._known, self.model.first_tokens
        found: list[Tokens] = []
        for start, end in _slices([len(text) for text in texts]):
            encoded = self.model.tokenizer.encode_batch_fast(
                texts[start:end], add_special_tokens=False
            )
            found += [[*first, *(known.setdefault(i, i) for i in one.ids)] for one in encoded]
        return found


class _Asked(NamedTuple):
    place: int  # among the units of the task
    unit: str
    middle: float  # of the unit, in characters of its context


class _Group(NamedTuple):
    """Prompts that begin alike."""

    places: list[int]
    prompts: list[Tokens]
    cut: int  # tokens of context and units that they do without


def _slices(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of texts of about `_TEXT_AT_ONCE` characters."""
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and total + size > _TEXT_AT_ONCE:
            yield start, place
            start, total = place, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)
