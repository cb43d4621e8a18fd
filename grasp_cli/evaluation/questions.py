"""Records of several files joined by id: what is expected, and that one id means one question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grasp_cli.evaluation.scoring import GOLD_KEYS
from grasp_cli.evaluation.summary import Key
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

_SHOWN = 60  # characters of a question in a message


def dataset_of(record: Record, default: str = "") -> str:
    """The dataset that a record names under `dataset`, else `default`."""
    named = record.get("dataset")
    return named if isinstance(named, str) and named else default


class Questions:
    """The text of every question seen, and the file where it was seen first."""

    def __init__(self) -> None:
        self._seen: dict[Key, tuple[str, str]] = {}

    def join(self, key: Key, question: str, file: str) -> None:
        """Note a question. `DataError` where its id stood for another one before."""
        known, first = self._seen.setdefault(key, (question, file))
        if known != question and known.split() != question.split():
            raise DataError(
                f'record "{key.id}": its question is {_shown(known)} in {first} but '
                f"{_shown(question)} in {file}; evaluate files of the same questions, or name "
                "the datasets (--dataset, --by-folder)"
            )


class Gold(Mapping[Key, Record]):
    """The expected questions with their gold, by key."""

    def __init__(self, records: Iterable[Record] = (), dataset: str = "") -> None:
        self._known: dict[Key, Record] = {}
        self._datasets: dict[str, list[str]] = {}  # id -> datasets that have a question of that id
        self.add(records, dataset)

    def add(self, records: Iterable[Record], dataset: str = "", file: str = "the gold") -> None:
        """Expect these records, too, and keep no more than their gold and question."""
        for record in records:
            key = Key(dataset_of(record, dataset), record["id"])
            if key in self._known:
                raise DataError(f'{file}: the id "{key.id}" was used before, in another gold file')
            gold = {name: record[name] for name in GOLD_KEYS if name in record}
            self._known[key] = {"question": record["question"], "file": file, **gold}
            self._datasets.setdefault(key.id, []).append(key.dataset)

    def find(self, identity: str, dataset: str) -> Key | None:
        """The expected question that a record is, None where there is none.

        A record or a question without a dataset goes by its id alone, where that is enough.
        """
        datasets = self._datasets.get(identity, [])
        if dataset in datasets:
            return Key(dataset, identity)
        if "" in datasets:
            return Key("", identity)
        return Key(datasets[0], identity) if not dataset and len(datasets) == 1 else None

    def __getitem__(self, key: Key) -> Record:
        return self._known[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def file_name(path: Path) -> str:
    """A file's name for messages."""
    return "stdin" if str(path) == "-" else str(path)


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return f'"{flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"}"'
