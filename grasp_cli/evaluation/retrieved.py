"""The contexts of records, as rankings of documents, against what is relevant."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from grasp_cli.defaults import EVALUATE, SCORE_DECIMALS
from grasp_cli.evaluation.ranking import Grades, ranking_scores
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

_NO_GOLD = "records have neither evidence_gold nor gold_titles: left out"
_UNEXPECTED = "records are not among the questions of --gold: left out"
_NOT_JUDGED = "records are not judged in --qrels: left out"
_GOLD_NOT_JUDGED = "questions of --gold are not judged in --qrels: left out"
_NOTHING_RELEVANT = "questions have no relevant document: they count as 0"
_NOTHING_FOUND = (
    "questions, all of them, miss every relevant document: do their ids (or titles) mean the same?"
)
_SHALLOW = "contexts at most in a record: metrics at higher cutoffs see no more"


def document_ranking(contexts: Iterable[Record]) -> list[str]:
    """The ids of the documents of passages, each where its first passage stands."""
    return list(dict.fromkeys(context.get("doc_id") or context["id"] for context in contexts))


class Judgement(NamedTuple):
    """What is relevant to a question: grades by document id, or by title."""

    grades: Grades
    by_title: bool = False

    def ranking(self, contexts: Iterable[Record]) -> list[str]:
        """What contexts retrieve, under the names that the grades go by."""
        if not self.by_title:
            return document_ranking(contexts)
        return list(dict.fromkeys(context.get("title") or context["id"] for context in contexts))


def gold_judgement(record: Record) -> Judgement | None:
    """What a record itself says: its `evidence_gold`, else its `gold_titles`, else None."""
    where = f'record "{record["id"]}"'
    if pieces := record.get("evidence_gold"):
        grades: dict[str, int] = {}
        for piece in pieces:
            document, grade = _piece(piece, where)
            grades[document] = max(grade, grades.get(document, grade))
        return Judgement(grades)
    if titles := record.get("gold_titles"):
        if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
            raise DataError(f'{where}: "gold_titles" must be a list of strings')
        return Judgement(dict.fromkeys(titles, 1), by_title=True)
    return None


class RankingEvaluation:
    """Scores records one by one and keeps only their values.

    The judged questions of `qrels` are expected, or those of `gold` where given (records, of
    which id and gold are read), or those of the file. An expected question without results has 0.
    """

    def __init__(
        self,
        label: str,
        *,
        qrels: Mapping[str, Grades] | None = None,
        gold: Mapping[str, Judgement | None] | None = None,
        cutoffs: Sequence[int] = EVALUATE.cutoffs,
    ) -> None:
        self.notes: Counter[str] = Counter()
        self._label = label
        self._qrels = qrels
        self._gold = gold
        self._cutoffs = cutoffs
        self._names = list(ranking_scores([], {}, cutoffs))
        self._values = array("d")  # a row of all metrics per question
        self._counts = {"n": 0, "failed": 0, "missing": 0}
        self._deepest = 0
        self._waiting = self._expected()
        self._example: str | None = None  # the id of a record that is not judged

    def add(self, record: Record) -> Record:
        """Score a record; returns it with `scores`, or untouched where it failed or is left out."""
        judgement = self._judgement(record)
        if judgement is None:
            self._example = self._example or record["id"]
            return record
        self._waiting.pop(record["id"], None)
        failed = "error" in record
        contexts = [] if failed else record.get("contexts") or []
        self._deepest = max(self._deepest, len(contexts))
        scores = self._count(judgement, contexts, failed)
        if failed:
            return record
        return {**record, "scores": {name: _rounded(value) for name, value in scores.items()}}

    def finish(self) -> None:
        """Count the expected questions that never came.

        Raises `DataError` where records came and none of them is judged.
        """
        if self._example is not None and not self._counts["n"]:
            raise DataError(self._explain_nothing(self._example))
        for judgement in self._waiting.values():
            self._count(judgement, [], False)
        self._waiting.clear()
        if self._counts["n"] and not any(self._values):
            self.notes[_NOTHING_FOUND] += self._counts["n"]
        if 0 < self._deepest < max(self._cutoffs, default=0):
            self.notes[_SHALLOW] = self._deepest

    def row(self) -> dict[str, Any]:
        """Label, counts, and each metric's mean with the ends of its bootstrap interval."""
        from grasp_cli.evaluation.statistics import mean_intervals  # loads numpy

        row: dict[str, Any] = {"label": self._label, **self._counts}
        count, width = self._counts["n"], len(self._names)
        if not count:
            return row | dict.fromkeys(self._names)
        columns = [self._values[number::width] for number in range(width)]
        intervals = mean_intervals(list(zip(*columns, strict=True)))
        for name, column, (low, high) in zip(self._names, columns, intervals.tolist(), strict=True):
            row[name] = _rounded(sum(column) / count)
            row |= {f"{name}_low": _rounded(low), f"{name}_high": _rounded(high)}
        return row

    def rows(self) -> list[dict[str, Any]]:
        """That row alone."""
        return [self.row()]

    def _expected(self) -> dict[str, Judgement]:
        """The questions that are expected, by id."""
        if self._qrels is None:
            return {key: found for key, found in (self._gold or {}).items() if found}
        chosen = self._qrels if self._gold is None else self._gold
        self.notes[_GOLD_NOT_JUDGED] += sum(key not in self._qrels for key in chosen)
        return {key: Judgement(self._qrels[key]) for key in chosen if key in self._qrels}

    def _judgement(self, record: Record) -> Judgement | None:
        key = record["id"]
        if self._gold is not None and key not in self._gold:
            self.notes[_UNEXPECTED] += 1
            return None
        if self._qrels is not None:
            if self._gold is None:
                self.notes[_NOT_JUDGED] += key not in self._qrels
            return Judgement(self._qrels[key]) if key in self._qrels else None
        judgement = gold_judgement(record) or (self._gold or {}).get(key)
        self.notes[_NO_GOLD] += judgement is None
        return judgement

    def _count(
        self, judgement: Judgement, contexts: Sequence[Record], failed: bool
    ) -> dict[str, float]:
        scores = ranking_scores(judgement.ranking(contexts), judgement.grades, self._cutoffs)
        self._values.extend(scores.values())
        self._counts["n"] += 1
        self._counts["failed"] += failed
        self._counts["missing"] += not contexts and not failed
        self.notes[_NOTHING_RELEVANT] += not any(g > 0 for g in judgement.grades.values())
        return scores

    def _explain_nothing(self, example: str) -> str:
        if self._qrels is None:
            return (
                f'{self._label}: nothing says what is relevant to record "{example}" or any other; '
                "give --qrels FILE, or records with evidence_gold or gold_titles"
            )
        known = next(iter(self._waiting or self._qrels), "none")
        return (
            f"{self._label}: none of its records is judged in --qrels; its ids are like "
            f'"{example}", those of --qrels like "{known}"; correct one of them'
        )


def _piece(piece: Any, where: str) -> tuple[str, int]:
    """Document and grade of one piece of gold evidence."""
    if isinstance(piece, dict):
        document, grade = piece.get("id"), piece.get("relevance", 1)
        if isinstance(document, str) and isinstance(grade, int):
            return document, grade
    raise DataError(
        f'{where}: "evidence_gold" must be a list of {{id, relevance?}}, the relevance a whole '
        f"number, not {piece!r}"
    )


def _rounded(value: float) -> float:
    return round(value, SCORE_DECIMALS)
