from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grasp_cli.pipe.engine import Outcome, Tally, run_each
from grasp_cli.pipe.errors import Interrupted
from grasp_cli.pipe.interruption import Interruption
from grasp_cli.pipe.records import Record
from tests.pipe.jobs import Upper, questions, work
from tests.pipe.test_job import ids


def kill(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_batch_in_flight_is_finished(tmp_path: Path, number: int, code: int) -> None:
    source, out = questions(tmp_path / "in", range(20)), tmp_path / "out"
    stage = Upper(on=lambda key: kill(number) if key == "7" else None)
    ran = work(source, out, stage)
    assert isinstance(ran.error, Interrupted) and ran.error.exit_code == code
    assert ids(tmp_path / "out.part") == stage.seen and stage.seen[-1] in "789"
    assert "records are kept" in ran.said[0] and "to go on" in ran.said[0]
    assert work(source, out, resume=True).code == 0
    assert ids(out) == [str(number) for number in range(20)]


def test_a_batch_that_takes_too_long_is_given_up() -> None:
    interruption = Interruption(grace=0.05)
    with interruption.installed(), pytest.raises(Interrupted):
        kill()
        assert interruption.asked  # and went on
        time.sleep(10)


def test_a_second_signal_does_not_wait() -> None:
    interruption = Interruption(grace=60)
    with interruption.installed(), pytest.raises(Interrupted):
        kill()
        assert interruption.asked
        kill(signal.SIGINT)
        time.sleep(10)


def test_waiting_for_input_ends_at_once() -> None:
    interruption = Interruption(grace=60)
    timer = threading.Timer(0.1, kill)
    with interruption.installed(), pytest.raises(Interrupted):
        timer.start()
        interruption.wait(threading.Event().wait)


def test_writing_is_never_broken_off() -> None:
    interruption, reached = Interruption(grace=0.01), False
    with interruption.installed(), pytest.raises(Interrupted), interruption.writing():
        kill()
        kill()
        time.sleep(0.05)
        reached = True
    assert reached


def test_handlers_are_put_back_and_an_ignored_signal_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    other = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with Interruption().installed():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, other)


class Slow:
    name = "slow"
    workers = 2

    def __init__(self) -> None:
        self.begun: list[str] = []

    def process_one(self, record: Record) -> Outcome:
        self.begun.append(record["id"])
        if record["id"] == "2":
            kill()
        time.sleep(0.1)
        return {**record, "done": True}


def test_of_records_at_once_those_begun_are_finished_in_order() -> None:
    def records() -> Iterator[Record]:
        for number in range(50):
            yield {"id": str(number)}

    stage, interruption, out = Slow(), Interruption(), list[Record]()
    with interruption.installed(), pytest.raises(Interrupted):
        for batch in run_each(stage, records(), Tally(), interruption):
            out += batch
    assert [record["id"] for record in out] == [str(number) for number in range(len(out))]
    assert {record["id"] for record in out} == set(stage.begun) and 3 <= len(out) < 10
