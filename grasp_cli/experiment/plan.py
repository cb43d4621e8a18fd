"""What a run would do, cell by cell, without doing it (`grasp experiment --dry-run`)."""

from __future__ import annotations

from typing import Any

from grasp_cli.experiment.config import Dataset, Method
from grasp_cli.experiment.runner import Cell, Runner, Tools
from grasp_cli.pipe.errors import GraspError
from grasp_cli.report.tables import Column, Table

COLUMNS = (
    Column("dataset", "dataset", "text"),
    Column("questions", "questions", "text"),
    Column("contexts", "contexts", "text"),
    Column("method", "method", "text"),
    Column("options", "options", "text"),
    Column("reader", "reader", "text"),
    Column("state", "state", "text"),
)


def plan(runner: Runner) -> Table:
    """A row per cell."""
    changed = {str(cell): f"made otherwise: {how}" for cell, how in runner.changed()}
    return Table(COLUMNS, [_row(runner, cell, changed.get(str(cell))) for cell in runner.cells])


def obstacles(runner: Runner, tools: Tools) -> list[str]:
    """What is missing on this machine, files of datasets and models of methods, and for which."""
    found: dict[str, list[str]] = {}
    for dataset in runner.experiment.datasets:
        try:
            runner.made(Cell(dataset, runner.experiment.methods[0]))
        except GraspError as error:
            found.setdefault(str(error), []).append(dataset.name)
    for method in runner.experiment.methods:
        try:
            tools.compressor(method)
        except GraspError as error:
            for line in str(error).splitlines():
                found.setdefault(line, []).append(method.name)
    return [f"{', '.join(names)}: {message}" for message, names in found.items()]


def _row(runner: Runner, cell: Cell, changed: str | None) -> dict[str, Any]:
    dataset, method = cell
    reader = runner.experiment.reader
    return {
        "dataset": dataset.name,
        "questions": _questions(dataset),
        "contexts": _contexts(runner, dataset),
        "method": method.name,
        "options": _options(method),
        "reader": "none" if reader is None else " ".join(map(str, reader.given.values())),
        "state": changed or _state(runner, cell),
    }


def _questions(dataset: Dataset) -> str:
    if dataset.sample:
        return f"{dataset.sample} at random"
    return f"first {dataset.limit}" if dataset.limit else "all"


def _contexts(runner: Runner, dataset: Dataset) -> str:
    if not dataset.retrieves:
        return f"first {dataset.top_k} of its own" if dataset.top_k else "its own"
    depth = runner.experiment.retrieve.given["top-k"]
    return f"{depth} retrieved, {dataset.top_k or runner.experiment.top_k} kept"


def _options(method: Method) -> str:
    named = [] if method.method == method.name else [method.method]
    return ", ".join([*named, *(f"{key} = {value}" for key, value in method.given.items())]) or "-"


def _state(runner: Runner, cell: Cell) -> str:
    journal = runner.journal(cell)
    if journal.is_whole:
        return "done"
    return f"begun: {len(journal.known())} there" if journal.begun else "to do"
