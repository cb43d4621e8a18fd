"""The records of one file against what was expected of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grasp_cli.evaluation.scoring import (
    GOLD_KEYS,
    score,
    score_full,
    score_missing,
    with_gold,
)
from grasp_cli.evaluation.summary import Summary
from grasp_cli.pipe.records import Record

Gold = Mapping[str, Record]  # question id -> its gold keys
_NO_GOLD = "records have no gold answers: em, contains, f1 and rouge_l leave them out"
_NO_ANSWER = "records, all of them, have no answer: they count as 0; grasp answer gives answers"
_UNEXPECTED = "records are not among the questions of --gold: left out"


def gold_of(records: Iterable[Record]) -> dict[str, Record]:
    """The gold of each expected question, and no more of its record."""
    return {
        record["id"]: {key: record[key] for key in GOLD_KEYS if key in record} for record in records
    }


class Evaluation:
    """Scores records one by one and keeps only their values.

    `gold` holds the expected questions; without it those of the file are expected. Where a record
    has `answer_full`, a second row tells of the answers from the full contexts.
    """

    def __init__(self, label: str, gold: Gold | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._gold = gold
        self._waiting = dict.fromkeys(gold or {})  # expected and not seen so far, in order
        self._summary = Summary(label)
        self._full = Summary(f"{label} (full)")
        self._compared = False

    def add(self, record: Record) -> Record:
        """Score a record; returns it with `scores`, or untouched where it has failed."""
        expected = self._gold is None or record["id"] in self._gold
        known = with_gold(record, self._gold.get(record["id"], {})) if self._gold else record
        scored = score(known)
        if expected:
            self._waiting.pop(record["id"], None)
            self._compared |= "answer_full" in record
            self._summary.add(scored)
            self._full.add(score_full(known))
            self.notes[_NO_GOLD] += known.get("answers") is None
        else:
            self.notes[_UNEXPECTED] += 1
        return record if scored.failed else {**record, "scores": scored.scores}

    def finish(self) -> None:
        """Count the expected questions that never came."""
        for key in self._waiting:
            missing = score_missing((self._gold or {})[key])
            self._summary.add(missing)
            self._full.add(missing)
        self._waiting.clear()
        if self._summary.missing == self._summary.n:
            self.notes[_NO_ANSWER] += self._summary.n

    def row(self) -> dict[str, Any]:
        """The row of the file itself."""
        return self._summary.row()

    def rows(self) -> list[dict[str, Any]]:
        """That row, and the one of the full contexts where there is any."""
        return [self.row(), *([self._full.row()] if self._compared else [])]


def labels_of(paths: Sequence[Path], given: Sequence[str]) -> list[str]:
    """Labels for files: those given, else the stems, else (where stems are equal) the paths."""
    stems = [_without_suffixes(path).name for path in paths]
    found = [
        stem if stems.count(stem) == 1 else str(_without_suffixes(path))
        for stem, path in zip(stems, paths, strict=True)
    ]
    return [*given, *found[len(given) :]]


def _without_suffixes(path: Path) -> Path:
    if str(path) == "-":
        return Path("stdin")
    for suffix in (".gz", ".zst", ".jsonl", ".json"):
        if path.suffix == suffix:
            path = path.with_suffix("")
    return path
