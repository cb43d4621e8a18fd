"""The records of one method against what was expected of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grasp_cli.evaluation.evidence import NAMES, is_written
from grasp_cli.evaluation.questions import Gold, Questions, dataset_of
from grasp_cli.evaluation.scoring import Scored, Scoring, with_gold
from grasp_cli.evaluation.summary import Key, Summary, merged
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

OVERALL = "overall"
_NO_GOLD = "records have no gold answers: em, contains, f1 and rouge_l leave them out"
_NO_ANSWER = "records, all of them, have no answer: they count as 0; grasp answer gives answers"
_NOT_VERBATIM = "records have evidence whose text is not its slice of the contexts"
_OVER_BUDGET = "records have a context with more tokens than compression.max_tokens"
_UNEXPECTED = "records are not among the questions of --gold: left out"


class Evaluation:
    """Scores records one by one and keeps only their values, by dataset.

    `gold` holds the expected questions; without it those that come are expected. `questions` is
    shared by what is compared, so that an id means the same question everywhere. Where a record
    has `answer_full`, a second row tells of the answers from the full contexts.

    `alone` says that the records are those of one file and are compared with nothing: then no id is
    kept, and a million records take little memory.
    """

    def __init__(
        self,
        label: str,
        gold: Gold | None = None,
        questions: Questions | None = None,
        scoring: Scoring | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self.label = label
        self.notes: Counter[str] = Counter()
        self.own: dict[str, Summary] = {}
        self.full: dict[str, Summary] = {}
        self.compared = False  # whether anything was answered from the full contexts
        self._gold = gold
        self._alone = alone and gold is None
        self._written = False  # whether a model wrote contexts, so that nobody knows what was kept
        self._scoring = scoring or Scoring()
        self._questions = questions or Questions()
        self._came: set[Key] = set()  # of the expected questions
        self._counted: set[Key] = set()
        self._datasets: set[str] = set()  # those of the files, "" for one that names none
        for key, expected in (gold or {}).items():
            self._questions.join(key, expected["question"], expected["file"])

    def expect(self, dataset: str) -> None:
        """A file of this dataset comes, even if it is empty: its gold questions count."""
        self._datasets.add(dataset)

    def add(self, record: Record, dataset: str = "", file: str = "stdin") -> Record:
        """Score a record; returns it with `scores`, or untouched where it has failed.

        `dataset` is that of the record's file, for records that name none themselves.
        """
        expected, key = self._joined(record, dataset)
        known = record
        if self._gold is not None and expected:
            known = with_gold(record, self._gold[expected])
            self._questions.join(expected, record["question"], file)
        scored = self._scoring.score(known)
        if expected and key:
            if not self._alone:
                self._questions.join(key, record["question"], file)
                self._refuse_counted(key, file)
                self._came.add(expected)
            self.compared |= "answer_full" in record
            self._written |= is_written(record)
            self._count(key, scored, self._full(known, scored))
            self.notes[_NO_GOLD] += known.get("answers") is None
            self.notes[_NOT_VERBATIM] += scored.scores.get("verbatim") == 0
            self.notes[_OVER_BUDGET] += scored.scores.get("budget_kept") == 0
        else:
            self.notes[_UNEXPECTED] += 1
        return record if scored.failed else {**record, "scores": scored.scores}

    def key_of(self, record: Record, dataset: str = "") -> Key | None:
        """The question that a record counts for; None where it is not expected."""
        return self._joined(record, dataset)[1]

    def finish(self) -> None:
        """Count the expected questions that never came, of the datasets that files were of."""
        every = "" in self._datasets or not self._datasets
        only = next(iter(self.own)) if len(self.own) == 1 else ""
        for key, gold in (self._gold or {}).items():
            if key not in self._came and (every or key.dataset in self._datasets | {""}):
                missing = self._scoring.score_missing(gold)
                self._count(Key(key.dataset or only, key.id), missing, missing)
        if self._written:  # nor does a failed record tell, else its 0 would stand for all
            for summary in self.own.values():
                summary.forget(NAMES)
        for dataset in self._datasets or {""}:
            if not self.own:  # a row all the same
                self.own[dataset] = Summary(self.label, dataset)
        summaries = self.own.values()
        count = sum(summary.n for summary in summaries)
        if sum(summary.missing for summary in summaries) == count:
            self.notes[_NO_ANSWER] += count

    def whole(self) -> Summary:
        """All datasets together."""
        return merged(self.own.values() or [Summary(self.label)], OVERALL)

    def row(self) -> dict[str, Any]:
        """The row of all datasets together."""
        return self.whole().row()

    def rows(self) -> list[dict[str, Any]]:
        """That row, and the one of the full contexts where there is any."""
        return [self.row(), *([merged(self.full.values(), OVERALL).row()] if self.compared else [])]

    def _joined(self, record: Record, dataset: str) -> tuple[Key | None, Key | None]:
        """The expected question that a record is, and the key that it counts under."""
        found = Key(dataset_of(record, dataset), record["id"])
        if self._gold is None:
            return found, found
        expected = self._gold.find(found.id, found.dataset)
        return expected, expected and Key(found.dataset or expected.dataset, found.id)

    def _count(self, key: Key, own: Scored, full: Scored) -> None:
        for summaries, label, scored in (
            (self.own, self.label, own),
            (self.full, f"{self.label} (full)", full),
        ):
            if key.dataset not in summaries:
                summaries[key.dataset] = Summary(label, key.dataset)
            summaries[key.dataset].add(None if self._alone else key, scored)

    def _full(self, record: Record, own: Scored) -> Scored:
        """What the answer from the full contexts is worth; 0 where there is none."""
        if "answer_full" in record or own.failed:
            return self._scoring.score_full(record)
        return self._scoring.score_missing(record)

    def _refuse_counted(self, key: Key, file: str) -> None:
        """One question cannot count twice under one label."""
        if key in self._counted:
            raise DataError(
                f'{file}: record "{key.id}" came before in another file of the label '
                f"{self.label}; give them labels, or name their datasets (--dataset, --by-folder)"
            )
        self._counted.add(key)


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
