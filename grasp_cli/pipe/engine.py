"""Run a stage over a stream of records.

A reader thread pulls records from upstream into a bounded queue. The stage is given what has
already arrived, up to its window, and never waits to fill one: under load models see full
batches, yet a record that arrives alone leaves at once. Order is kept; a record that carries an
`error` passes untouched; a record that the stage cannot process travels on with one.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import Protocol, runtime_checkable

from grasp_cli.pipe.errors import RecordError, ServerGone
from grasp_cli.pipe.interruption import Interruption
from grasp_cli.pipe.masking import masked
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.threads import DaemonThreads

Outcome = Record | RecordError


@runtime_checkable
class Stage(Protocol):
    """What a verb does to records, several at a time."""

    name: str
    window: int  # how many records it is given at most

    def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
        """One outcome per record, in order: the new record, or why there is none."""
        ...


class EachStage(Protocol):
    """What a verb does to one record at a time, several at once in threads."""

    name: str
    workers: int

    def process_one(self, record: Record) -> Outcome:
        """The new record, or why there is none. Called from several threads."""
        ...


class Tally:
    """What became of the records of a run; `read` are those that the stage was given."""

    def __init__(self) -> None:
        self.read = 0
        self.passed_on = 0  # came with an error of an earlier stage
        self.skipped = 0  # done by an earlier run
        self.elsewhere = 0  # of other shards
        self.unreadable = 0  # lines
        self.failures: Counter[int] = Counter()  # exit code of the failure -> records
        self.gone = False  # the server was given up

    @property
    def failed(self) -> int:
        """Records that this stage could not process."""
        return sum(self.failures.values())

    def exit_code(self) -> int:
        """0; 3 where what all records need is not there; 5 where all were too slow; else 7.

        7 is also the code for lines that could not be read.
        """
        if not self.failures:
            return 7 if self.unreadable else 0
        all_failed = self.failed == self.read - self.passed_on
        if self.gone or (all_failed and 3 in self.failures):
            return 3
        return 5 if all_failed and 5 in self.failures and len(self.failures) == 1 else 7


def run_stage(
    stage: Stage,
    records: Iterable[Record],
    tally: Tally,
    interruption: Interruption | None = None,
) -> Iterator[list[Record]]:
    """Records after `stage`, in lists of what one window gave, so that a caller can flush each.

    An interruption is raised between two windows.
    """
    for window in arrived(records, stage.window, interruption):
        tally.read += len(window)
        todo = [record for record in window if "error" not in record]
        tally.passed_on += len(window) - len(todo)
        outcomes = iter(stage.process(todo)) if todo else iter(())
        yield [
            record if "error" in record else settle(record, next(outcomes), stage.name, tally)
            for record in window
        ]


def run_each(
    stage: EachStage,
    records: Iterable[Record],
    tally: Tally,
    interruption: Interruption | None = None,
) -> Iterator[list[Record]]:
    """As `run_stage`, with up to `stage.workers` records in flight at once.

    What the stage raises ends the run once the records before that one are given out; an
    interruption, once those are that a worker has begun with.
    """
    interruption = interruption or Interruption()
    events: queue.Queue[Record | BaseException | None] = queue.Queue()
    room = threading.Semaphore(2 * stage.workers)
    _start_reader(records, events.put, room)
    waiting: _InFlight = deque()
    end: BaseException | bool = False
    with closing(DaemonThreads(stage.workers)) as pool:
        while not end or waiting:
            if interruption.asked:
                end, waiting = True, _begun(waiting)
                if not waiting:
                    break
            if not end:
                event = events.get() if waiting else interruption.wait(events.get)
                if interruption.asked:
                    continue
                if isinstance(event, dict):
                    tally.read += 1
                    waiting.append((event, _submit(pool, stage, event, events)))
                elif event is not _WAKE:
                    end = event if event is not None else True
            elif waiting[0][1] is not None:
                waiting[0][1].exception()  # waits
            ready = []
            while waiting and (waiting[0][1] is None or waiting[0][1].done()):
                record, future = waiting.popleft()
                if future and (raised := future.exception()):
                    end = raised
                    waiting.clear()
                    break
                room.release()
                tally.passed_on += future is None
                ready.append(
                    settle(record, future.result(), stage.name, tally) if future else record
                )
            if ready:
                yield ready
    interruption.check()
    if isinstance(end, BaseException):
        raise end


_WAKE = RuntimeError("a record in flight is done")
_InFlight = deque[tuple[Record, "Future[Outcome] | None"]]


def _begun(waiting: _InFlight) -> _InFlight:
    """Of the records in flight those, from the first on, that are done or being worked on."""
    begun: _InFlight = deque()
    for record, future in waiting:
        if future is not None and future.cancel():
            break
        begun.append((record, future))
    return begun


def _submit(
    pool: DaemonThreads,
    stage: EachStage,
    record: Record,
    events: queue.Queue[Record | BaseException | None],
) -> Future[Outcome] | None:
    if "error" in record:
        return None
    future = pool.submit(stage.process_one, record)
    future.add_done_callback(lambda _: events.put(_WAKE))
    return future


def settle(record: Record, outcome: Outcome, stage: str, tally: Tally) -> Record:
    """The outcome itself, or the record with the error that stands in its place."""
    if not isinstance(outcome, RecordError):
        return outcome
    tally.failures[outcome.exit_code] += 1
    tally.gone = tally.gone or isinstance(outcome, ServerGone)
    error = {
        "stage": stage,
        "type": outcome.kind,
        "message": masked(str(outcome)),
        "retryable": outcome.retryable,
    }
    return {**record, "error": error}


def arrived(
    records: Iterable[Record], window: int, interruption: Interruption | None = None
) -> Iterator[list[Record]]:
    """Lists of what has already arrived, 1 to `window` records each, never waiting for more."""
    interruption = interruption or Interruption()
    inbox: queue.Queue[Record | BaseException | None] = queue.Queue(maxsize=window)
    _start_reader(records, inbox.put)
    while True:
        batch: list[Record] = []
        item = interruption.wait(inbox.get)
        while isinstance(item, dict):
            batch.append(item)
            if len(batch) == window:
                break
            try:
                item = inbox.get_nowait()
            except queue.Empty:
                break
        if batch:
            yield batch
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item


class _Put(Protocol):
    def __call__(self, item: Record | BaseException | None, /) -> None: ...


def _start_reader(
    records: Iterable[Record], put: _Put, room: threading.Semaphore | None = None
) -> None:
    def read() -> None:
        try:
            for record in records:
                if room is not None:
                    room.acquire()
                put(record)
        except BaseException as error:  # noqa: BLE001 - raised again in the consuming thread
            put(error)
        else:
            put(None)

    threading.Thread(target=read, name="reader", daemon=True).start()
