from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.engine import Outcome, Tally, arrived, run_each, run_stage
from grasp_cli.pipe.errors import DataError, RecordError, ServerGone, ServerMissing, TooSlow
from grasp_cli.pipe.records import Record


class Doubling:
    """Doubles `n`; an odd one cannot be processed."""

    name = "double"

    def __init__(self, window: int = 4) -> None:
        self.window = window
        self.seen: list[int] = []

    def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
        self.seen.append(len(records))
        for record in records:
            yield RecordError("odd") if record["n"] % 2 else {**record, "double": 2 * record["n"]}


class Each:
    name = "each"

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.most = self.now = 0
        self.lock = threading.Lock()

    def process_one(self, record: Record) -> Outcome:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.001 * (record["n"] % 5))
        with self.lock:
            self.now -= 1
        return RecordError("odd") if record["n"] % 2 else {**record, "done": True}


def flat(batches: Iterable[list[Record]]) -> list[Record]:
    return [record for batch in batches for record in batch]


@given(st.lists(st.integers(0, 9)), st.integers(1, 7))
def test_records_in_are_records_out_in_order_with_every_key(
    numbers: list[int], window: int
) -> None:
    records = [{"x": [1], "n": n, "id": str(i)} for i, n in enumerate(numbers)]
    tally = Tally()
    out = flat(run_stage(Doubling(window), iter(records), tally))
    assert [{key: record[key] for key in ("x", "n", "id")} for record in out] == records
    assert [("error" in record) for record in out] == [n % 2 == 1 for n in numbers]
    assert (tally.read, tally.failed) == (len(numbers), sum(n % 2 for n in numbers))


@given(st.lists(st.integers(0, 9), max_size=25), st.integers(1, 6))
def test_threads_keep_the_order_too(numbers: list[int], workers: int) -> None:
    records = [{"n": n, "id": str(i)} for i, n in enumerate(numbers)]
    tally, stage = Tally(), Each(workers)
    out = flat(run_each(stage, iter(records), tally))
    assert [record["id"] for record in out] == [record["id"] for record in records]
    assert tally.failed == sum(n % 2 for n in numbers)
    assert stage.most <= workers


def test_threads_really_run_at_once() -> None:
    stage = Each(4)
    flat(run_each(stage, [{"n": 4, "id": str(i)} for i in range(24)], Tally()))
    assert stage.most > 1


@pytest.mark.parametrize("run", ["stage", "each"])
def test_an_error_of_an_earlier_stage_passes_untouched(run: str) -> None:
    records = [{"id": "a", "n": 2}, {"id": "b", "n": 2, "error": {"stage": "x"}}]
    tally = Tally()
    if run == "stage":
        out = flat(run_stage(Doubling(), records, tally))
    else:
        out = flat(run_each(Each(2), records, tally))
    assert out[1] == records[1] and out[0] != records[0]
    assert (tally.read, tally.passed_on, tally.failed) == (2, 1, 0)


@pytest.mark.parametrize("run", ["stage", "each"])
def test_a_broken_upstream_raises_after_what_came_before(run: str) -> None:
    def records() -> Iterator[Record]:
        yield {"id": "a", "n": 2}
        raise DataError("f:2: not JSON")

    out: list[Record] = []
    batches = (
        run_stage(Doubling(), records(), Tally())
        if run == "stage"
        else run_each(Each(2), records(), Tally())
    )
    with pytest.raises(DataError):
        for batch in batches:
            out += batch
    assert [record["id"] for record in out] == ["a"]


def test_the_error_that_a_record_carries() -> None:
    out = flat(run_stage(Doubling(), [{"id": "a", "n": 1, "keep": None}], Tally()))
    error = {"stage": "double", "type": "RecordError", "message": "odd", "retryable": False}
    assert out == [{"id": "a", "n": 1, "keep": None, "error": error}]


def test_full_windows_when_all_is_there_and_no_wait_when_it_is_not() -> None:
    gate = threading.Event()

    def records() -> Iterator[Record]:
        for number in range(8):
            yield {"id": str(number)}
        gate.wait(10)
        yield {"id": "late"}

    windows = []
    for window in arrived(records(), 4):
        windows.append(window)
        if sum(map(len, windows)) == 8:
            gate.set()
        else:
            time.sleep(0.05)
    assert [record["id"] for window in windows for record in window][-1] == "late"
    assert all(len(window) <= 4 for window in windows)
    assert max(map(len, windows)) == 4
    assert gate.is_set()


@pytest.mark.parametrize("window", [1, 3, 16])
def test_look_ahead_is_bounded(window: int) -> None:
    pulled = 0

    def records() -> Iterator[Record]:
        nonlocal pulled
        for number in range(1000):
            pulled += 1
            yield {"id": str(number)}

    for given_out, batch in enumerate(arrived(records(), window), start=1):
        time.sleep(0.002)
        assert pulled <= given_out * window + window + 2
        assert len(batch) <= window
        if given_out == 5:
            break


def failures(*errors: RecordError, ok: int = 0) -> int:
    tally = Tally()
    tally.read = len(errors) + ok
    for error in errors:
        tally.failures[error.exit_code] += 1
    return tally.exit_code()


def test_exit_codes() -> None:
    bad, gone, slow = RecordError("x"), ServerMissing("x"), TooSlow("x")
    assert failures(ok=3) == 0
    assert failures(bad) == failures(bad, ok=2) == failures(slow, ok=1) == failures(slow, bad) == 7
    assert failures(slow) == failures(slow, slow) == 5
    assert failures(gone) == failures(gone, bad) == failures(gone, slow) == 3
    assert failures(gone, ok=5) == 7  # one question of six: the server is there


@pytest.mark.parametrize("run", ["stage", "each"])
def test_a_server_that_was_given_up_is_exit_code_3(run: str) -> None:
    def outcome(record: Record) -> Outcome:
        return record if record["n"] else ServerGone("gone")

    class Giving:
        name, window, workers = "giving", 4, 2
        process_one = staticmethod(outcome)

        def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
            return map(outcome, records)

    tally = Tally()
    run_it: Any = run_stage if run == "stage" else run_each
    flat(run_it(Giving(), [{"id": str(n), "n": n} for n in (1, 1, 0, 1)], tally))
    assert (tally.failed, tally.exit_code()) == (1, 3)


def test_what_a_thread_raises_ends_the_run_after_the_records_before() -> None:
    class Stopping:
        name, workers = "stopping", 3

        def process_one(self, record: Record) -> Outcome:
            time.sleep(0.002 * (9 - record["n"]))  # the later, the sooner
            if record["n"] == 4:
                raise DataError("stop")
            return record

    out: list[Record] = []
    with pytest.raises(DataError, match="stop"):
        for batch in run_each(Stopping(), [{"id": str(n), "n": n} for n in range(9)], Tally()):
            out += batch
    assert [record["n"] for record in out] == [0, 1, 2, 3]


@pytest.mark.parametrize("workers", [1, 3])
def test_records_in_flight_are_bounded_where_one_blocks_the_rest(workers: int) -> None:
    gate, pulled = threading.Event(), []

    class Blocked:
        name = "blocked"

        def __init__(self) -> None:
            self.workers = workers

        def process_one(self, record: Record) -> Outcome:
            if record["n"] == 0:
                gate.wait(30)
            return record

    def records() -> Iterator[Record]:
        for number in range(100):
            pulled.append(number)
            yield {"id": str(number), "n": number}

    threading.Timer(0.2, gate.set).start()
    first = next(run_each(Blocked(), records(), Tally()))
    assert first[0]["n"] == 0
    assert len(pulled) <= 2 * workers + 2 + len(first)


def test_a_stopped_run_leaves_no_threads_behind() -> None:
    run = run_each(Each(3), [{"id": str(n), "n": n} for n in range(20)], Tally())
    next(run)
    run.close()
    until = time.monotonic() + 10
    while any(t.name == "worker" for t in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)
    assert not [t for t in threading.enumerate() if t.name == "worker"]
