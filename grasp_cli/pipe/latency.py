"""Latencies instead of shares: one record at a time, warm, in one process (`--latency`).

What a record says of its seconds is otherwise its share of a batch that it was in. Here a stage is
given each record by itself, after it has processed the first one once for nothing, so that models
are loaded and caches of the machine are warm. The whole input is read first: then the stage before
in a pipe has ended, and does not compete for the processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grasp_cli.pipe.engine import EachStage, Outcome, Stage
from grasp_cli.pipe.records import Record

TRACES = ("retrieval", "compression", "reader", "reader_full")  # where stages write seconds


class OneByOne:
    """A stage as `--latency` runs it; what it says of its seconds also says `latency: true`."""

    window = 1

    def __init__(self, stage: Stage | EachStage) -> None:
        self.name = stage.name
        self._stage = stage
        self._warm = False

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        """One outcome per record."""
        for record in records:
            if not self._warm:
                self._warm = True
                self._processed(record)
            outcome = self._processed(record)
            yield _marked(outcome, record) if isinstance(outcome, dict) else outcome

    def _processed(self, record: Record) -> Outcome:
        if not isinstance(self._stage, Stage):
            return self._stage.process_one(record)
        (outcome,) = self._stage.process([record])
        return outcome


def all_read(records: Iterable[Record]) -> Iterator[Record]:
    """The records, none of them before the last one has come."""
    yield from list(records)


def _marked(new: Record, old: Record) -> Record:
    """The record with a mark on the seconds that this stage wrote."""
    return {
        key: {**value, "latency": True} if key in TRACES and value is not old.get(key) else value
        for key, value in new.items()
    }
