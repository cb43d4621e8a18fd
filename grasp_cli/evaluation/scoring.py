"""One record to its metric values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.answers import FUNCTIONS, STEMMED, score_answer
from grasp_cli.evaluation.asqa import Pair, SpanReader, disambiguated_f1, pairs_of, string_match
from grasp_cli.evaluation.costs import costs, full_costs
from grasp_cli.evaluation.entities import entity_f1
from grasp_cli.evaluation.evidence import NOTHING_KEPT, all_contexts, evidence_scores
from grasp_cli.evaluation.retained import retained
from grasp_cli.pipe.records import Record

GOLD_KEYS = ("answers", "evidence_gold", "qa_pairs")


@dataclass(frozen=True)
class Scored:
    """What became of one expected question. `scores` are values of quality, `costs` of effort."""

    scores: dict[str, float]
    costs: dict[str, float]
    failed: bool = False
    missing: bool = False

    @property
    def values(self) -> dict[str, float]:
        """Every metric that has a value."""
        return self.scores | self.costs


@dataclass(frozen=True)
class Scoring:
    """How records are scored: with which metrics beside the usual ones.

    `stemming` adds ROUGE-L of stemmed words; `reader` adds Disambig-F1 where there are `qa_pairs`.
    """

    stemming: bool = False
    reader: SpanReader | None = None

    def score(self, record: Record) -> Scored:
        """The values of a record; a failed one, or one without an answer, has 0 for its answer."""
        failed = "error" in record
        answer = _answer(record.get("answer"), failed)
        scores = self._answer_scores(answer, record)
        scores |= evidence_scores(record, failed=failed) | retained(record, failed=failed)
        return Scored(_rounded(scores), costs(record), failed, answer is None and not failed)

    def score_full(self, record: Record) -> Scored:
        """The same for the answer from the full contexts, which `grasp answer --compare` adds."""
        failed = "error" in record
        answer = _answer(record.get("answer_full"), failed)
        scores = self._answer_scores(answer, record)
        scores |= evidence_scores(all_contexts(record), failed=failed)
        return Scored(_rounded(scores), full_costs(record), failed, answer is None and not failed)

    def score_missing(self, gold: Record) -> Scored:
        """A question that was expected and is not there: 0 wherever there is gold."""
        scores = self._answer_scores(None, gold)
        if gold.get("evidence_gold"):
            scores |= NOTHING_KEPT
        return Scored(scores, {}, missing=True)

    def _answer_scores(self, answer: str | None, record: Record) -> dict[str, float]:
        scores = {}
        if record.get("answers") is not None:
            functions = FUNCTIONS | STEMMED if self.stemming else FUNCTIONS
            golds = [str(gold) for gold in record["answers"]]
            scores = score_answer(answer, golds, functions) if answer is not None else {}
            scores = scores or dict.fromkeys(functions, 0.0)
        if pairs := pairs_of(record):
            scores |= self._pair_scores(answer, pairs, record)
        return scores

    def _pair_scores(
        self, answer: str | None, pairs: Sequence[Pair], record: Record
    ) -> dict[str, float]:
        if answer is None:
            read = () if self.reader is None else ("disambig_f1",)
            return dict.fromkeys(("str_em", "entity_f1", *read), 0.0)
        scores = {
            "str_em": string_match(pairs, answer),
            "entity_f1": entity_f1(record["question"], pairs, answer),
        }
        if self.reader is not None:
            scores["disambig_f1"] = disambiguated_f1(pairs, answer, self.reader)
        return scores


def score(record: Record) -> Scored:
    """The values of a record with the usual metrics."""
    return Scoring().score(record)


def with_gold(record: Record, gold: Record) -> Record:
    """The record with the gold that it lacks."""
    return {**record, **{key: gold[key] for key in GOLD_KEYS if key in gold and key not in record}}


def _answer(given: Any, failed: bool) -> str | None:
    return given if isinstance(given, str) and not failed else None


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, SCORE_DECIMALS) for name, value in scores.items()}
