"""Questions with their contexts: read, and retrieved where they do not bring their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grasp_cli.experiment.config import Dataset
from grasp_cli.experiment.folder import Folder, Made, read_made, write_made
from grasp_cli.formats import FORMATS, load_format
from grasp_cli.formats.base import documents_of
from grasp_cli.formats.detect import detect
from grasp_cli.formats.selection import select
from grasp_cli.pipe.engine import Stage, Tally, settle
from grasp_cli.pipe.errors import DataError, GraspError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import read_documents, read_records

BuildIndex = Callable[[Iterable[Record], Path], None]
OpenIndex = Callable[[Path], Stage]
Say = Callable[[str], None]


class Datasets:
    """Prepares the datasets of an experiment, each once; `say` takes what was odd in a file."""

    def __init__(
        self, folder: Folder, build_index: BuildIndex, open_index: OpenIndex, say: Say
    ) -> None:
        self._folder = folder
        self._build = build_index
        self._open = open_index
        self._say = say
        self._failed: dict[str, GraspError] = {}  # what failed once is not tried for every method

    def records(self, dataset: Dataset, made: Made) -> list[Record]:
        """The records that all methods get: the first `top_k` contexts of those in the folder."""
        path = self._folder.dataset(dataset)
        if dataset.name in self._failed:
            raise self._failed[dataset.name]
        if not (path.is_file() and read_made(path) == made):
            try:
                self._prepare(dataset, path, made)
            except GraspError as error:
                self._failed[dataset.name] = error
                raise
        most = made.get("top-k")
        return [_cut(record, most) for record in read_records([path])]

    def _prepare(self, dataset: Dataset, path: Path, made: Made) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # it is of another making, as what is said beside it
        questions, documents = self._read(dataset)
        if documents is not None:
            directory = self._folder.index(dataset)
            self._build(documents, directory)
            questions = list(retrieved(self._open(directory), questions))
        elif not any(record.get("contexts") for record in questions):
            raise DataError(
                f"{dataset.questions}: the questions bring no contexts: name documents to index "
                f'with documents = "…" in dataset {dataset.name}'
            )
        write_made(path, made)
        with open_sink(path) as sink:
            for record in questions:
                sink.write(record)

    def _read(self, dataset: Dataset) -> tuple[list[Record], Iterable[Record] | None]:
        """The questions, and the documents to retrieve from, where there are any."""
        path = dataset.questions
        name = dataset.format or detect(path, dataset.split) or "records"
        if name not in FORMATS:
            raise DataError(f"{path}: this is {name}, which holds no questions to run")
        reader = load_format(name, dataset.split)
        questions = _chosen(reader.records(path), dataset)
        for note, count in reader.notes.items():
            self._say(f"{dataset.name}: {count} {note}")
        if not questions:
            raise DataError(f"{dataset.questions}: no record at all")
        if dataset.documents is not None:
            return questions, read_documents([dataset.documents])
        return questions, documents_of(questions) if dataset.pool else reader.corpus(path)


def retrieved(stage: Stage, records: list[Record]) -> Iterator[Record]:
    """Records with the contexts that a stage finds, in its windows."""
    for start in range(0, len(records), stage.window):
        window = records[start : start + stage.window]
        for record, outcome in zip(window, stage.process(window), strict=True):
            yield settle(record, outcome, stage.name, Tally())


def _chosen(records: Iterable[Record], dataset: Dataset) -> list[Record]:
    seen: set[str] = set()
    chosen = list(select(records, dataset.limit, dataset.sample, dataset.seed))
    for record in chosen:
        if record["id"] in seen:
            raise DataError(f'{dataset.questions}: the id "{record["id"]}" comes twice')
        seen.add(record["id"])
    return chosen


def _cut(record: Record, most: int | None) -> Record:
    if most is None or "contexts" not in record:
        return record
    return {**record, "contexts": record["contexts"][:most]}
