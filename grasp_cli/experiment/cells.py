"""The records of one cell: compressed by its method, then answered by the reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grasp_cli.experiment.journal import Journal
from grasp_cli.pipe.engine import EachStage, Stage, Tally, run_each, settle
from grasp_cli.pipe.errors import MissingError
from grasp_cli.pipe.progress import watching
from grasp_cli.pipe.records import Record

_MISSING = 3  # exit code of a record whose server or model is not there


@dataclass(frozen=True)
class Done:
    """What became of a cell: questions known before, and what the failed of all say."""

    known: int
    errors: list[str]


def run_cell(
    name: str,
    records: Sequence[Record],
    journal: Journal,
    compress: Stage,
    answer: Stage | EachStage | None,
) -> Done:
    """Compute what the journal lacks and finish it; a bar or lines tell how far the cell is.

    Compression and answering take turns, a window at a time, so that neither slows the other and
    the seconds of each are its own. Raises `MissingError` where the reader's server is not there.
    """
    known = journal.known()
    todo = [record for record in records if record["id"] not in known]
    if todo or not journal.is_whole:
        with journal.writing() as writer, watching() as progress:
            progress.status = name
            for window in _windows(list(progress.reading(todo)), compress.window):
                for record in _answered(_processed(compress, window), answer):
                    writer.add(record)
                    known[record["id"]] = record
                    progress.advance(1)
        journal.finish(known[record["id"]] for record in records)
    return Done(len(records) - len(todo), errors_of(records, known))


def errors_of(records: Sequence[Record], known: Mapping[str, Record]) -> list[str]:
    """What the records that failed say."""
    found = (known[record["id"]].get("error") for record in records)
    return [str(error["message"]) for error in found if error]


def _windows(records: Sequence[Record], most: int) -> Iterator[list[Record]]:
    for start in range(0, len(records), most):
        yield list(records[start : start + most])


def _answered(records: list[Record], stage: Stage | EachStage | None) -> Iterator[Record]:
    if stage is None:
        yield from records
    elif isinstance(stage, Stage):
        for record in records:
            yield from _processed(stage, [record])
    else:
        tally = Tally()
        for batch in run_each(stage, records, tally):
            for record in batch:
                _refuse_missing(record, stage.name, tally)
                yield record


def _processed(stage: Stage, records: list[Record]) -> list[Record]:
    """Records after a stage; those with an earlier error pass."""
    tally = Tally()
    outcomes = iter(stage.process([record for record in records if "error" not in record]))
    found = [
        record if "error" in record else settle(record, next(outcomes), stage.name, tally)
        for record in records
    ]
    for record in found:
        _refuse_missing(record, stage.name, tally)
    return found


def _refuse_missing(record: Record, stage: str, tally: Tally) -> None:
    """End the cell where what every question needs is not there."""
    if tally.failures[_MISSING] and record.get("error", {}).get("stage") == stage:
        raise MissingError(record["error"]["message"])
