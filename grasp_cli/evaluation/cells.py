"""Many files, a dataset and a method each, to one comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.questions import Gold, Questions
from grasp_cli.pipe.sources import read_records


class Cell(NamedTuple):
    """The answered records of a method on a dataset ("" where there is only one)."""

    dataset: str
    method: str
    file: Path


def compare(
    cells: Iterable[Cell],
    *,
    gold: Mapping[str, Path] | None = None,
    baseline: str | None = None,
) -> Methods:
    """Score the records of all cells and put the methods side by side, in the order they come.

    Parameters
    ----------
    gold
        The expected questions of each dataset, by its name: the denominator of its cells. Without
        it the records of a cell are all that was expected.
    baseline
        The method that the others are compared with.

    Raises
    ------
    DataError
        A file cannot be read, or two files have different questions under one id.
    UsageError
        No cell is of method `baseline`.
    """
    known = Gold()
    for dataset, path in (gold or {}).items():
        known.add(read_records([path]), dataset, str(path))
    expected, questions = known if gold else None, Questions()
    found: dict[str, Evaluation] = {}
    for cell in cells:
        if cell.method not in found:
            found[cell.method] = Evaluation(cell.method, expected, questions)
        evaluation = found[cell.method]
        evaluation.expect(cell.dataset)
        for record in read_records([cell.file]):
            evaluation.add(record, cell.dataset, str(cell.file))
    for evaluation in found.values():
        evaluation.finish()
    return Methods(list(found.values()), baseline)
