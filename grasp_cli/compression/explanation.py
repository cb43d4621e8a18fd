"""Why each sentence of a record was kept or dropped: what `grasp compress --explain` adds.

Every sentence ends in exactly one state, named after the step that decided:

    coarse       dropped by the coarse filter
    method       left out by a method that scores nothing (`lead`)
    threshold    its unit scored below the threshold
    redundancy   its unit repeats a better one
    budget       its unit did not fit, or the adaptive budget stopped before it
    overlap      another passage of the document already shows this text
    kept         it is in the context
    rescued      it is in the context since its unit passed on a second hop
    fallback     it is in the context, though nothing passed the threshold
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from grasp_cli.compression.tasks import Evidence, Passage, Selection, Task
from grasp_cli.pipe.records import Record
from grasp_cli.text import Segment, Span


@dataclass(frozen=True)
class Steps:
    """What was left after each step of the selection, in their order."""

    passed: Collection[int]  # units that the threshold chose, or what stands in for it
    distinct: Collection[int]  # those of them that repeat no better one
    fitted: Sequence[Evidence]  # what fits the budget
    kept: Sequence[Evidence]  # what is in the context
    fallback: str | None = None
    whole: Sequence[Evidence] = ()  # every context, where that stood in for the units
    adaptive: bool = False  # whether a budget stood in for the threshold


def explain(task: Task, selection: Selection, steps: Steps) -> list[list[Record]]:
    """Per passage of the task, one entry per sentence, in reading order.

    An entry has `start`, `end` (offsets into the context's text) and `kind`; `coarse` (the coarse
    filter's score) and `survived` where there was such a filter; `unit` and `score` (the
    classifier's) where the sentence is in a unit; `kept` and `why`. Where only a part of the
    sentence was kept, `part` is that part's [start, end).
    """
    explanation = _Explanation(task, selection, steps)
    return [explanation.of(passage) for passage in task.passages]


class _Explanation:
    """The steps, looked up by sentence."""

    def __init__(self, task: Task, selection: Selection, steps: Steps) -> None:
        self._selection = selection
        self._steps = steps
        runs = [run for candidate in selection.units for run in candidate.runs]
        self._units = _by_passage(runs, task)
        self._fitted = _by_passage(steps.fitted, task)
        self._kept = _by_passage(steps.kept, task)
        self._whole = _by_passage(steps.whole, task)

    def of(self, passage: Passage) -> list[Record]:
        """The entries of one passage."""
        return [
            self._entry(passage.number, position, sentence)
            for position, sentence in enumerate(passage.sentences)
        ]

    def _entry(self, passage: int, position: int, sentence: Segment) -> Record:
        entry: dict[str, Any] = sentence._asdict()
        selection = self._selection
        if selection.coarse is not None and selection.survivors is not None:
            entry["coarse"] = float(selection.coarse[passage][position])
            entry["survived"] = position in selection.survivors[passage]
        unit = next((run.unit for run in self._units[passage] if _shared(run, sentence)), None)
        if unit is not None:
            entry["unit"] = unit
            if selection.units[unit].score is not None:
                entry["score"] = selection.units[unit].score
        parts = [part for run in self._kept[passage] if (part := _shared(run, sentence))]
        if not parts:
            return {**entry, "kept": False, "why": self._why_dropped(passage, sentence, entry)}
        if (part := (parts[0][0], parts[-1][1])) != (sentence.start, sentence.end):
            entry["part"] = list(part)
        return {**entry, "kept": True, "why": self._why_kept(unit)}

    def _why_kept(self, unit: int | None) -> str:
        if self._steps.fallback:
            return "fallback"
        return "rescued" if unit in self._selection.rescued else "kept"

    def _why_dropped(self, passage: int, sentence: Segment, entry: Record) -> str:
        """The step at which a sentence was lost, the last one first."""
        steps, unit = self._steps, entry.get("unit")
        if any(_shared(run, sentence) for run in self._fitted[passage]):
            return "overlap"
        if steps.whole:
            offered = any(_shared(run, sentence) for run in self._whole[passage])
            return "budget" if offered else "overlap"
        if unit is not None and unit in steps.distinct:
            return "budget"
        if unit is not None and unit in steps.passed:
            return "redundancy"
        if not entry.get("survived", True):
            return "coarse"
        if unit is None:
            return "method"
        return "budget" if steps.adaptive else "threshold"


def _by_passage(runs: Sequence[Evidence], task: Task) -> list[list[Evidence]]:
    found: list[list[Evidence]] = [[] for _ in task.passages]
    for run in runs:
        found[run.passage].append(run)
    return found


def _shared(run: Evidence, sentence: Segment) -> Span | None:
    """What of the sentence lies in the run."""
    start, end = max(run.start, sentence.start), min(run.end, sentence.end)
    return (start, end) if start < end else None
