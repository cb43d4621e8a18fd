"""One record to its metric values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.answers import FUNCTIONS, score_answer
from grasp_cli.evaluation.costs import costs, full_costs
from grasp_cli.evaluation.evidence import all_contexts, recall
from grasp_cli.pipe.records import Record

GOLD_KEYS = ("answers", "evidence_gold")


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


def score(record: Record) -> Scored:
    """The values of a record; a failed one, or one without an answer, has 0 for its answer."""
    failed = "error" in record
    answer = _answer(record.get("answer"), failed)
    scores = _answer_scores(answer, record) | _recall_scores(record, failed)
    return Scored(_rounded(scores), costs(record), failed, answer is None and not failed)


def score_full(record: Record) -> Scored:
    """The same for the answer from the full contexts, which `grasp answer --compare` adds."""
    failed = "error" in record
    answer = _answer(record.get("answer_full"), failed)
    scores = _answer_scores(answer, record) | _recall_scores(all_contexts(record), failed)
    return Scored(_rounded(scores), full_costs(record), failed, answer is None and not failed)


def score_missing(gold: Record) -> Scored:
    """A question that was expected and is not there: 0 wherever there is gold."""
    scores = _answer_scores(None, gold)
    if gold.get("evidence_gold"):
        scores["evidence_recall"] = 0.0
    return Scored(scores, {}, missing=True)


def with_gold(record: Record, gold: Record) -> Record:
    """The record with the gold that it lacks."""
    return {**record, **{key: gold[key] for key in GOLD_KEYS if key in gold and key not in record}}


def _answer(given: Any, failed: bool) -> str | None:
    return given if isinstance(given, str) and not failed else None


def _answer_scores(answer: str | None, record: Record) -> dict[str, float]:
    if record.get("answers") is None:
        return {}
    if answer is None:
        return dict.fromkeys(FUNCTIONS, 0.0)
    return score_answer(answer, [str(gold) for gold in record["answers"]])


def _recall_scores(record: Record, failed: bool) -> dict[str, float]:
    found = recall(record, record.get("evidence_gold") or [], failed=failed)
    return found.scores() if found else {}


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, SCORE_DECIMALS) for name, value in scores.items()}
