"""What a foreign format is: records from a path, and remarks on what did not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from grasp_cli.formats import hub
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.json_values import read_objects
from grasp_cli.pipe.records import Record


class Format(Protocol):
    """Reads one foreign format.

    `notes` counts, by their text, the places where the data did not fit and what was done there.
    """

    notes: Counter[str]

    def records(self, path: Path) -> Iterator[Record]:
        """Records in the order of the file."""
        ...

    def corpus(self, path: Path) -> Iterator[Record] | None:
        """Documents that stand apart from the questions; None where records hold them."""
        ...


@dataclass(frozen=True)
class Sources:
    """What stands beside a file that names questions and documents by id alone."""

    questions: Path | None = None  # records, queries or topics
    corpus: Path | None = None  # documents as JSON lines
    index: Path | None = None  # a directory of `grasp index`

    def needed_questions(self, name: str) -> Path:
        """The file of the questions; `UsageError` where format `name` came without it."""
        if self.questions is None:
            raise UsageError(
                f"{name} names questions by their ids: give them with --questions FILE"
            )
        return self.questions


class JoinedFormat(Protocol):
    """Reads files that name questions by id alone, and joins them to the questions.

    `failed` counts the records that were given an `error`.
    """

    notes: Counter[str]
    failed: int

    def records(self, paths: list[Path]) -> Iterator[Record]:
        """Records in the order of the questions, from all files together."""
        ...


class Writer(Protocol):
    """Writes records as lines of a foreign format."""

    notes: Counter[str]

    def lines(self, records: Iterable[Record]) -> Iterator[str]:
        """The lines of all records, without line ends."""
        ...


class DocumentFormat(Protocol):
    """Reads documents `{id, title?, text, …}` from files that know of no questions."""

    notes: Counter[str]

    def documents(self, path: Path) -> Iterator[Record]:
        """Documents in the order of the file."""
        ...


class ItemFormat(ABC):
    """A format whose files are JSON arrays or lines of objects, or rows of a hub's dataset.

    `split` names one of the parts of a dataset (train, dev), where there are several.
    """

    holds_splits = False

    def __init__(self, split: str | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self.split = split
        self.count = 0  # objects read so far, over all files

    @abstractmethod
    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The records of one object; `where` ("file:line") is named in errors."""

    def records(self, path: Path) -> Iterator[Record]:
        """Records in the order of the file."""
        for where, item in self._items(path):
            self.count += 1
            yield from self.convert(item, where)

    def _items(self, path: Path) -> Iterator[tuple[str, Record]]:
        if hub.is_reference(path):
            return hub.rows(path, self.split)
        if self.split is not None and not self.holds_splits:
            raise UsageError(
                f"--split {self.split}: {path} has no splits (Hugging Face datasets, BEIR folders "
                "and asqa files have)"
            )
        return read_objects(path)

    def corpus(self, path: Path) -> Iterator[Record] | None:
        """None: the documents are the contexts of the records."""
        return None


def documents_of(records: Iterable[Record]) -> Iterator[Record]:
    """The distinct contexts of records as documents `{id, title?, text}`, first seen first."""
    seen: set[str] = set()
    for record in records:
        for context in record.get("contexts", []):
            if context["id"] not in seen:
                seen.add(context["id"])
                yield {key: context[key] for key in ("id", "title", "text") if key in context}


def field(item: Record, key: str, kind: type, where: str) -> Any:
    """`item[key]`, which must be there and of type `kind`; `DataError` otherwise."""
    value = item.get(key)
    if isinstance(value, kind):
        return value
    keys = ", ".join(list(item)[:8]) or "none"
    raise DataError(
        f'{where}: "{key}" must be there as {_KINDS[kind]}; keys: {keys}; is it another format?'
    )


def objects(item: Record, key: str, where: str) -> Iterator[tuple[str, Record]]:
    """The objects of the list `item[key]`, each with its place for errors."""
    joint = "." if where.endswith("]") else ": "
    for position, value in enumerate(field(item, key, list, where)):
        place = f"{where}{joint}{key}[{position}]"
        if not isinstance(value, dict):
            raise DataError(f"{place}: must be an object; is it another format?")
        yield place, value


def rows(item: Record, key: str, where: str) -> Iterator[tuple[str, Record]]:
    """As `objects`, where `item[key]` may also be one object of columns of equal length.

    Hugging Face `datasets` turns lists of objects into such columns.
    """
    columns = item.get(key)
    if not isinstance(columns, dict):
        yield from objects(item, key, where)
        return
    lists = [field(columns, name, list, f"{where}: {key}") for name in columns]
    if len({len(values) for values in lists}) > 1:
        raise DataError(f'{where}: the columns of "{key}" must be equally long')
    for position, values in enumerate(zip(*lists, strict=True)):
        yield f"{where}: {key}[{position}]", dict(zip(columns, values, strict=True))


def question_id(item: Record, default: str) -> str:
    """The id of a question, as a string, under whichever usual name it comes."""
    names = ("id", "_id", "qid", "question_id")
    found = next((item[name] for name in names if item.get(name) not in (None, "")), default)
    return str(found)


_KINDS = {str: "a string", list: "a list", dict: "an object", int: "a whole number"}
