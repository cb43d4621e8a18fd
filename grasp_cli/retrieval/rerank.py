"""A second look at what was retrieved: a cross-encoder reads question and passage together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.cross_encoder import CrossEncoder
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.records import Record


class FirstStage(Protocol):
    """What retrieves the candidates."""

    window: int

    def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
        """One outcome per record; the record has `contexts` and `retrieval` with `seconds`."""
        ...


class Reranker:
    """Keeps the `top_k` best of the contexts that another stage finds.

    `score` becomes the model's logit (of two classes, the log-odds of the second), `rank` the
    place by it, ties by id; `first_score` and `first_rank` are those of the first stage. Passages
    of all records of a window share the model's batches.

    Parameters
    ----------
    first : retrieves the candidates, more than `top_k`
    model : scores them
    titles : read a passage with its title in front, as the index does
    choose : what of the contexts may stay, best first; all where it is not given
    """

    name = "retrieve"

    def __init__(
        self,
        first: FirstStage,
        model: CrossEncoder,
        top_k: int,
        *,
        titles: bool = True,
        choose: Callable[[Iterable[Record]], Iterable[Record]] = iter,
    ) -> None:
        self.window = first.window
        self._first = first
        self._model = model
        self._top_k = top_k
        self._titles = titles
        self._choose = choose

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        """One outcome per record."""
        self._model.load()
        found = [self._refused(outcome) for outcome in self._first.process(records)]
        good = [outcome for outcome in found if not isinstance(outcome, RecordError)]
        texts = [[self._text(context) for context in record["contexts"]] for record in good]
        pairs = [
            (record["question"], text)
            for record, own in zip(good, texts, strict=True)
            for text in own
        ]
        started = time.perf_counter()
        logits = np.round(self._model.logits(pairs), SCORE_DECIMALS).tolist() if pairs else []
        letters = max(1, sum(len(text) for _, text in pairs))
        share = (time.perf_counter() - started) / letters
        scores, sizes = iter(logits), iter([sum(map(len, own)) for own in texts])
        for outcome in found:
            if isinstance(outcome, RecordError):
                yield outcome
            else:
                own = [next(scores) for _ in outcome["contexts"]]
                yield self._reranked(outcome, own, share * next(sizes))

    def _refused(self, outcome: Outcome) -> Outcome:
        """The outcome, or an error where the question leaves less than half of an input."""
        if isinstance(outcome, RecordError):
            return outcome
        room, limit = self._model.room(outcome["question"]), self._model.max_length
        if 2 * room >= limit:
            return outcome
        return RecordError(
            f"the question takes {limit - room} of the {limit} tokens that {self._model.name} "
            "reads; shorten it, or leave out --rerank",
            kind="QuestionTooLong",
        )

    def _text(self, context: Record) -> str:
        title = context.get("title") if self._titles else None
        return f"{title}\n{context['text']}" if title else str(context["text"])

    def _reranked(self, record: Record, scores: list[float], seconds: float) -> Record:
        pairs = zip(scores, record["contexts"], strict=True)
        best = sorted(pairs, key=lambda pair: (-pair[0], pair[1]["id"]))
        scored = (
            {
                **context,
                "score": score,
                "first_score": context["score"],
                "first_rank": context["rank"],
            }
            for score, context in best
        )
        chosen = islice(self._choose(scored), self._top_k)
        contexts = [{**context, "rank": rank} for rank, context in enumerate(chosen, start=1)]
        trace = record["retrieval"]
        spent = round(trace["seconds"] + seconds, 6)
        retrieval = {**trace, "reranker": self._model.name, "seconds": spent}
        return {**record, "contexts": contexts, "retrieval": retrieval}
