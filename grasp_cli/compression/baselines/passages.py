"""Passages and sentences as units, for methods that choose among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.tasks import Candidate, Task, Unit, runs


def whole_passages(task: Task, order: Iterable[int]) -> list[Candidate]:
    """Passages whole, each a unit, in the order given; those without text are left out."""
    units: list[Candidate] = []
    for number in order:
        passage = task.passages[number]
        positions = range(len(passage.sentences))
        units += [Candidate([run], None) for run in runs(passage, len(units), positions, None)]
    return units


def units_of(task: Task, unit: str) -> list[Unit]:
    """Every passage ("document") or every sentence ("sentence") as a unit, in reading order."""
    found = []
    for passage in task.passages:
        positions = tuple(range(len(passage.sentences)))
        groups = [positions] if unit == "document" else [(position,) for position in positions]
        found += [Unit(passage.number, group) for group in groups if group]
    return found


def candidates(task: Task, units: Sequence[Unit], scores: Sequence[float]) -> list[Candidate]:
    """Units with their scores."""
    return [
        Candidate(runs(task.passages[unit.passage], number, unit.sentences, score), score)
        for number, (unit, score) in enumerate(zip(units, scores, strict=True))
    ]
