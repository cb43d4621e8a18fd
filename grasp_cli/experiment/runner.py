"""All cells of an experiment: those that are done stay, those that fail do not stop the others."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grasp_cli.experiment.cells import errors_of, run_cell
from grasp_cli.experiment.config import Dataset, Experiment, Method
from grasp_cli.experiment.datasets import BuildIndex, Datasets, OpenIndex, Say
from grasp_cli.experiment.folder import (
    Folder,
    Made,
    differences,
    made_by_cell,
    made_by_dataset,
    read_made,
    write_made,
)
from grasp_cli.experiment.journal import Journal
from grasp_cli.pipe.engine import EachStage, Stage
from grasp_cli.pipe.errors import GraspError, ProcessingError, UsageError
from grasp_cli.pipe.records import Record


@dataclass(frozen=True)
class Tools:
    """How the parts of an experiment are made; `forget` drops what models remember of texts."""

    build_index: BuildIndex
    open_index: OpenIndex
    compressor: Callable[[Method], Stage]
    reader: Stage | EachStage | None = None
    forget: Callable[[], None] = lambda: None


class Cell(NamedTuple):
    """One dataset under one method."""

    dataset: Dataset
    method: Method

    def __str__(self) -> str:
        return f"{self.dataset.name} × {self.method.name}"


@dataclass(frozen=True)
class Failure:
    """Why a cell is not there; `exit_code` as of the error."""

    cell: Cell
    message: str
    exit_code: int


class Runner:
    """Runs an experiment in a folder; `say` takes a line of progress, `complain` of a failure."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Folder,
        tools: Tools,
        say: Say,
        complain: Say | None = None,
    ) -> None:
        self.experiment = experiment
        self.folder = folder
        self.failures: list[Failure] = []
        self.failed_records = 0
        self._tools = tools
        self._say = say
        self._complain = complain or say
        self._datasets = Datasets(folder, tools.build_index, tools.open_index, say)
        self._made: dict[str, Made | GraspError] = {}

    @property
    def cells(self) -> Iterator[Cell]:
        """Every cell, method by method: so models load once, and a half-run tells of all data."""
        for method in self.experiment.methods:
            for dataset in self.experiment.datasets:
                if method.datasets is None or dataset.name in method.datasets:
                    yield Cell(dataset, method)

    def journal(self, cell: Cell) -> Journal:
        """The records of a cell."""
        return Journal(self.folder.cell(*cell))

    def made(self, cell: Cell) -> Made:
        """What makes a cell; raises what its dataset's files raise."""
        dataset = cell.dataset
        if dataset.name not in self._made:
            try:
                self._made[dataset.name] = made_by_dataset(self.experiment, dataset)
            except GraspError as error:
                self._made[dataset.name] = error
        made = self._made[dataset.name]
        if isinstance(made, GraspError):
            raise made
        return made_by_cell(self.experiment, made, cell.method)

    def changed(self) -> list[tuple[Cell, str]]:
        """Cells that were made otherwise, each with every difference."""
        found = []
        for cell in self.cells:
            before = read_made(self.folder.cell(*cell))
            try:
                now = self.made(cell)
            except GraspError:
                continue  # it is said when the cell's turn comes
            if before is not None and before != now and self.journal(cell).begun:
                found.append((cell, differences(before, now)))
        return found

    def run(self, *, force: bool = False) -> list[Cell]:
        """Run what is not done; gives the cells that are there in the end.

        Raises `UsageError` before anything is run where cells were made otherwise; with `force`
        these are made again.
        """
        changed = self.changed()
        if changed and not force:
            raise UsageError(_refusal(changed))
        for cell, _ in changed:
            self.journal(cell).throw_away()
        there = []
        compressors = _Compressors(self._tools)
        for cell in self.cells:
            self._tools.forget()
            if self._tried(cell, compressors):
                there.append(cell)
        return there

    def _tried(self, cell: Cell, compressors: _Compressors) -> bool:
        """Run one cell; whether it is there."""
        try:
            self._run(cell, compressors)
        except GraspError as error:
            self._failed(cell, str(error), error.exit_code)
            return False
        except Exception as error:  # noqa: BLE001 - a night of cells must not end with one of them
            traceback.print_exc()
            self._failed(cell, f"{type(error).__name__}: {error} (a bug, shown above)", 1)
            return False
        return True

    def _failed(self, cell: Cell, message: str, exit_code: int) -> None:
        message = "; ".join(message.splitlines())
        self.failures.append(Failure(cell, message, exit_code))
        self._complain(f"{cell}: {message}")

    def _run(self, cell: Cell, compressors: _Compressors) -> None:
        made, journal = self.made(cell), self.journal(cell)
        dataset = self._made[cell.dataset.name]
        assert not isinstance(dataset, GraspError)
        records = self._datasets.records(cell.dataset, dataset)
        write_made(self.folder.cell(*cell), made)
        known = journal.known()
        if journal.is_whole and all(record["id"] in known for record in records):
            self._told(cell, records, errors_of(records, known), "done before")
            return
        started = time.perf_counter()
        compressor = compressors.of(cell.method)
        done = run_cell(str(cell), records, journal, compressor, self._tools.reader)
        seconds = time.perf_counter() - started
        again = f", {done.known} of them done before" if done.known else ""
        self._told(cell, records, done.errors, f"{seconds:.1f} s{again}")

    def _told(self, cell: Cell, records: Sequence[Record], errors: list[str], how: str) -> None:
        """Say what became of a cell; one of which nothing is left is no cell."""
        if len(errors) == len(records):
            raise ProcessingError(f"every question failed: {errors[0]}")
        self.failed_records += len(errors)
        wrong = f", {len(errors)} failed" if errors else ""
        self._say(f"{cell}: {len(records)} questions{wrong}, {how}")

    def exit_code(self) -> int:
        """0; 7 where cells or records failed; where no cell is there 3, 4 or 5 as all say, else 7.

        1 where a cell met a bug.
        """
        codes = {failure.exit_code for failure in self.failures}
        if 1 in codes:
            return 1
        if len(self.failures) == len(list(self.cells)) and len(codes) == 1:
            return codes.pop()
        return 7 if self.failures or self.failed_records else 0


class _Compressors:
    """The compressor of the method at hand."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._method: Method | None = None
        self._stage: Stage | None = None

    def of(self, method: Method) -> Stage:
        """The stage of a method; that of the method before is let go, and its memory with it."""
        if self._stage is None or self._method is not method:
            self._method = self._stage = None
            self._stage, self._method = self._tools.compressor(method), method
        return self._stage


def _refusal(changed: Sequence[tuple[Cell, str]]) -> str:
    (cell, difference), *more = changed
    others = f" (and {len(more)} more cells)" if more else ""
    return (
        f"{cell}{others}: made before with {difference}; --force makes such cells again, "
        "-o names another folder"
    )
