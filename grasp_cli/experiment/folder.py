"""The folder of an experiment: what lies where, and what made it.

datasets/NAME.jsonl             records with their contexts, and beside it what made them
datasets/NAME.index/            where contexts are retrieved
cells/DATASET/METHOD.jsonl      a finished cell, and beside it (.json) what made it
cells/DATASET/METHOD.journal    records of an unfinished one
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grasp_cli import __version__
from grasp_cli.experiment.config import Dataset, Experiment, Method
from grasp_cli.formats.hub import is_reference
from grasp_cli.models.locate import sha256_of
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, ProcessingError

Made = dict[str, Any]  # what made a file, as values that JSON has
_DIGITS = 12  # of a checksum


@dataclass(frozen=True)
class Folder:
    """Paths of one experiment."""

    root: Path

    @property
    def answers(self) -> Path:
        """What the reader answered: two methods that leave the same context ask it once."""
        return self.root / "answers"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process writes here; `ProcessingError` where one does."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.root / ".lock", timeout=0)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:  # which is an OSError, too
            raise ProcessingError(
                f"{self.root}: another process runs an experiment here; wait for it, or name "
                "another folder with -o"
            ) from None
        except OSError as error:
            raise ProcessingError(f"{self.root}: cannot be written: {error.strerror}") from None
        try:
            yield
        finally:
            lock.release()

    def dataset(self, dataset: Dataset) -> Path:
        """The records of a dataset."""
        return self.root / "datasets" / f"{dataset.name}.jsonl"

    def index(self, dataset: Dataset) -> Path:
        """The index of a dataset."""
        return self.root / "datasets" / f"{dataset.name}.index"

    def cell(self, dataset: Dataset, method: Method) -> Path:
        """The records of a cell."""
        return self.root / "cells" / dataset.name / f"{method.name}.jsonl"


def made_by_dataset(experiment: Experiment, dataset: Dataset) -> Made:
    """What decides the records of a dataset. Raises `DataError` where its files are not there."""
    documents, retrieved = dataset.documents, dataset.retrieves
    made: Made = {
        "questions": _content(dataset.questions),
        "documents": _content(documents) if documents else None,
        "format": dataset.format,
        "split": dataset.split,
        "limit": dataset.limit,
        "sample": dataset.sample,
        "seed": dataset.seed if dataset.sample else None,
        "pool": dataset.pool or None,
        "top-k": dataset.top_k or (experiment.top_k if retrieved else None),
    }
    if retrieved:
        made["profile"] = experiment.profile
        made |= {f"index.{key}": value for key, value in experiment.index.given.items()}
        made |= {f"retrieve.{key}": value for key, value in experiment.retrieve.given.items()}
    return _stated(made)


def made_by_cell(experiment: Experiment, dataset: Made, method: Method) -> Made:
    """What decides the records of a cell, given what decides those of its dataset."""
    made: Made = {f"dataset.{key}": value for key, value in dataset.items()}
    made |= {"profile": experiment.profile, "method": method.method}
    made |= {f"options.{key}": value for key, value in method.given.items()}
    if experiment.reader is None:
        return _stated({**made, "reader": "none"})
    return _stated(made | {f"reader.{k}": v for k, v in experiment.reader.given.items()})


def _stated(made: Made) -> Made:
    """Without what is not stated, and as it comes back from JSON."""
    return dict(json_lines.loads(json_lines.dumps(
        {key: value for key, value in made.items() if value is not None}
    ), "experiment"))  # fmt: skip


def _content(path: Path) -> str:
    """The name of a file or directory, and a checksum of what is in it; of the hub, the name."""
    if is_reference(path):
        return str(path)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    try:
        return f"{path.name} (SHA-256 {sha256_of(files)[:_DIGITS]}…)"
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None


def read_made(path: Path) -> Made | None:
    """What made the file at `path`; None where nothing says so."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        return None
    return dict(json_lines.loads(beside.read_bytes(), str(beside))["made"])


def write_made(path: Path, made: Made) -> None:
    """Say beside the file at `path` what makes it."""
    write_whole(
        path.with_suffix(".json"), json_lines.dumps({"grasp": __version__, "made": made}) + b"\n"
    )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Every key whose value is another one."""
    keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    return "; ".join(
        f"{key} = {_shown(before.get(key))} (now {_shown(now.get(key))})" for key in keys
    )


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is either the old one or the whole new one."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        raise ProcessingError(f"{path}: cannot be written: {error.strerror}") from None
