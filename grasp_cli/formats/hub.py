"""Datasets of the Hugging Face hub by name, through the library `datasets`, where it is installed.

`hf:NAME[:CONFIG]` or NAME:CONFIG, as in `hf:hotpotqa/hotpot_qa:distractor`; NAME may also be a
local directory that the library reads. From version 4 on it never runs code that comes with a
dataset, and no older one is used. Nothing is downloaded but what the user named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grasp_cli.pipe.errors import DataError, MissingError, UsageError
from grasp_cli.pipe.records import Record

DATASETS_EXTRA = "pip install 'grasp-cli[datasets]'"
PREFIX = "hf:"
_OLDEST = 4
_WITH_CONFIG = re.compile(r"(?:[\w.-]+/)?[\w.-]+:[\w.-]+")


def is_reference(path: Path) -> bool:
    """Whether `path` is the name of a dataset rather than of a file."""
    text = str(path)
    if text.startswith(PREFIX):
        return True
    return _WITH_CONFIG.fullmatch(text) is not None and not path.exists()


def rows(path: Path, split: str | None) -> Iterator[tuple[str, Record]]:
    """The rows of one split, each with its place for errors.

    Raises `MissingError` without the library, or where the hub cannot be reached; `UsageError`
    where the split must be named; `DataError` for what the library cannot read.
    """
    datasets = _datasets()
    name, _, config = str(path).removeprefix(PREFIX).partition(":")
    with _explained(path):
        chosen = split or _only_split(datasets, name, config or None, path)
        data = datasets.load_dataset(name, config or None, split=chosen)
    for number, row in enumerate(data, start=1):
        yield f"{path} ({chosen}), row {number}", row


def _only_split(datasets: Any, name: str, config: str | None, path: Path) -> str:
    names: list[str] = datasets.get_dataset_split_names(name, config)
    if len(names) != 1:
        raise UsageError(f"{path}: choose one of the splits {', '.join(names)} with --split")
    return names[0]


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such dataset: {_first_line(error)}") from None
    except OSError as error:
        raise MissingError(
            f"{path}: the dataset is not on this machine and the hub cannot be reached: "
            f"{_first_line(error)}"
        ) from None
    except (ValueError, RuntimeError) as error:  # config, split, a dataset that is code
        raise DataError(f"{path}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _datasets() -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingError(
            f"reading datasets by name needs the package datasets: {DATASETS_EXTRA}"
        ) from None
    if int(datasets.__version__.split(".")[0]) < _OLDEST:
        raise MissingError(
            f"the package datasets {datasets.__version__} may run code that comes with a dataset; "
            f"a newer one never does: {DATASETS_EXTRA}"
        )
    return datasets
