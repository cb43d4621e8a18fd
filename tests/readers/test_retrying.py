"""Trying again, and giving up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from grasp_cli.pipe.errors import RecordError, ServerGone, ServerMissing, TooSlow
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import READERS, ReaderSettings, Reply, make_reader
from grasp_cli.readers.retry_after import seconds_asked
from grasp_cli.readers.retrying import RetryingReader, pause_before
from tests.readers.servers import (
    Said,
    free_port,
    in_turn,
    ollama_reply,
    openai_reply,
    serving,
)

PROMPT = Prompt("strict", "c", "q")
BUSY = RecordError("busy", kind="ServerError")
BUSY.again = BUSY.retryable = True
SETTINGS = ReaderSettings("tiny", concurrency=1, max_wait=0.01, connect_timeout=2, read_timeout=20)
REPLY = {"ollama": ollama_reply("fine"), "openai": openai_reply("fine")}
SERVERS = pytest.mark.parametrize("kind", ["ollama", "openai"])


class Scripted:
    """A reader that gives these outcomes one after the other, the last one for good."""

    name, model = "scripted", "none"

    def __init__(self, *outcomes: str | RecordError | Callable[[], str]) -> None:
        self.outcomes = list(outcomes)
        self.asked = 0

    def request(self, prompt: Prompt) -> dict[str, Any]:
        return {}

    def answer(self, prompt: Prompt) -> Reply:
        self.asked += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, RecordError):
            raise outcome
        return Reply(outcome if isinstance(outcome, str) else outcome(), 1, 1, 0.0)


def retrying(reader: Any, **settings: Any) -> tuple[RetryingReader, list[str]]:
    said: list[str] = []
    return RetryingReader(reader, replace(SETTINGS, **settings), said.append), said


def against(kind: str, url: str, **settings: Any) -> RetryingReader:
    chosen = replace(SETTINGS, url=url, **settings)
    return RetryingReader(make_reader(kind, chosen), chosen, lambda _: None)


@pytest.mark.parametrize(
    "fault",
    [
        Said({"error": "busy"}, status=429),
        Said({"error": "boom"}, status=500),
        Said(b"<html>", status=503),
        Said(reset=True),
        Said(openai_reply("x" * 9999), cut=True),
    ],
    ids=lambda said: f"{said.status}{'reset' * said.reset}{'cut' * said.cut}",
)
@SERVERS
def test_passing_faults_of_a_server_are_tried_again(kind: str, fault: Said) -> None:
    with serving(in_turn(fault, fault, Said(REPLY[kind]))) as server:
        assert against(kind, server.url).answer(PROMPT).text == "fine"
    assert len(server.asked) == 3
    assert server.asked[0] == server.asked[2]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
@SERVERS
def test_other_refusals_are_not(kind: str, status: int) -> None:
    with (
        serving(lambda path, body: Said({"error": "no"}, status=status)) as server,
        pytest.raises(RecordError),
    ):
        against(kind, server.url).answer(PROMPT)
    assert len(server.asked) == 1


@SERVERS
def test_neither_is_silence_nor_nonsense(kind: str) -> None:
    def silent() -> Said:
        server.released.wait(30)
        return Said(REPLY[kind])

    with serving(in_turn(silent, Said([1]))) as server:
        reader = against(kind, server.url, read_timeout=0.2)
        with pytest.raises(TooSlow):
            reader.answer(PROMPT)
        with pytest.raises(RecordError) as caught:
            reader.answer(PROMPT)
    assert (caught.value.kind, len(server.asked)) == ("BadReply", 2)


@pytest.mark.parametrize("status", [200, 500])
@SERVERS
def test_a_server_that_sends_a_byte_now_and_then_is_too_slow(kind: str, status: int) -> None:
    said = Said(REPLY[kind], drip=0.05, status=status)
    started = time.monotonic()
    with serving(lambda path, body: said) as server, pytest.raises(TooSlow):
        against(kind, server.url, read_timeout=0.3, connect_timeout=0.2).answer(PROMPT)
    assert time.monotonic() - started < 5  # the whole takes over ten seconds


@SERVERS
def test_a_server_that_restarts_is_waited_for(kind: str) -> None:
    port = free_port()
    reader = against(kind, f"http://127.0.0.1:{port}", retries=400)
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(reader.answer(PROMPT).text))
    asking.start()
    time.sleep(0.1)
    with serving(lambda path, body: Said(REPLY[kind]), port):
        asking.join(30)
    assert found == ["fine"]


def test_tries_are_counted_and_the_last_error_is_raised() -> None:
    reader = Scripted(BUSY)
    retry, said = retrying(reader, retries=3)
    with pytest.raises(RecordError, match="busy"):
        retry.answer(PROMPT)
    assert reader.asked == 4
    assert len(said) == 1 and "3 times" in said[0]


def test_pauses_double_at_random_up_to_the_longest() -> None:
    for retry, most in enumerate((0.5, 1.0, 2.0, 4.0, 5.0, 5.0)):
        drawn = [pause_before(retry, None, 5.0) for _ in range(200)]
        assert most / 2 <= min(drawn) < most * 0.6
        assert most * 0.9 < max(drawn) <= most
    assert pause_before(10**6, None, 5.0) <= 5.0


def test_what_the_server_asks_for_goes_first_up_to_the_longest() -> None:
    assert pause_before(3, 0.0, 5.0) == 0.0
    assert pause_before(0, 3.0, 5.0) == 3.0
    assert pause_before(0, 3600.0, 5.0) == 5.0


NOW = datetime.now(timezone.utc).replace(microsecond=0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7),
        ("0", 0),
        ("-3", 0),
        ("1.5", 1.5),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        (format_datetime(NOW - timedelta(days=3), usegmt=True), 0),
        ("Wed, 99 Foo 2026", None),
    ],
)
def test_the_header_retry_after(header: str | None, seconds: float | None) -> None:
    assert seconds_asked(header, format_datetime(NOW, usegmt=True)) == seconds


def test_a_date_is_counted_from_the_clock_of_the_server_where_it_tells_it() -> None:
    wrong = NOW - timedelta(days=400)  # as far as their clock is off ours
    header = format_datetime(wrong + timedelta(seconds=30), usegmt=True)
    assert seconds_asked(header, format_datetime(wrong, usegmt=True)) == 30
    assert seconds_asked(header) == 0
    now = datetime.now(timezone.utc)
    ours = seconds_asked(format_datetime(now + timedelta(seconds=500), usegmt=True))
    assert ours is not None and 400 < ours <= 500


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["seconds", "date"])
@SERVERS
def test_retry_after_is_read_from_the_answer(kind: str, form: str, status: int) -> None:
    def busy() -> Said:
        date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True)
        asked = "40" if form == "seconds" else date
        return Said({"error": "busy"}, status=status, headers={"Retry-After": asked})

    with (
        serving(lambda path, body: busy()) as server,
        pytest.raises(RecordError) as caught,
    ):
        make_reader(kind, replace(SETTINGS, url=server.url)).answer(PROMPT)
    assert caught.value.wait is not None and 38 <= caught.value.wait <= 40


def test_a_server_is_given_up_after_failures_in_a_row() -> None:
    reader = Scripted(BUSY)
    retry, _ = retrying(reader, retries=1, give_up_after=3)
    for _ in range(3):
        with pytest.raises(RecordError, match="busy") as caught:
            retry.answer(PROMPT)
        assert not isinstance(caught.value, ServerGone)
    for _ in range(2):
        with pytest.raises(ServerGone, match="3 failed questions in a row: busy") as gone:
            retry.answer(PROMPT)
        assert (gone.value.exit_code, gone.value.retryable) == (3, True)
    assert reader.asked == 6  # nobody asks it any more


@pytest.mark.parametrize("between", ["fine", RecordError("too long", kind="RequestRefused")])
def test_an_answer_or_a_refusal_starts_the_count_anew(between: str | RecordError) -> None:
    reader = Scripted(BUSY, BUSY, between, BUSY, BUSY, between, BUSY, BUSY, "fine")
    retry, _ = retrying(reader, retries=0, give_up_after=3)
    for _ in range(8):
        try:
            retry.answer(PROMPT)
        except RecordError as error:
            assert not isinstance(error, ServerGone)
    assert retry.answer(PROMPT).text == "fine"


def test_as_many_failures_as_are_in_flight_are_needed_at_least() -> None:
    retry, _ = retrying(Scripted(BUSY), retries=0, give_up_after=2, concurrency=4)
    kinds = []
    for _ in range(6):
        with pytest.raises(RecordError) as caught:
            retry.answer(PROMPT)
        kinds.append(type(caught.value))
    assert kinds == [RecordError] * 4 + [ServerGone] * 2


def test_whoever_waits_stops_when_the_server_is_given_up() -> None:
    refused = ServerMissing("refused")
    reader = Scripted(BUSY, refused)
    BUSY.wait = 60
    try:
        retry, _ = retrying(reader, retries=5, give_up_after=1, max_wait=60)
        caught: list[BaseException] = []

        def wait() -> None:
            with pytest.raises(ServerGone) as raised:
                retry.answer(PROMPT)
            caught.append(raised.value)

        waiting = threading.Thread(target=wait)
        waiting.start()
        while reader.asked < 1:
            time.sleep(0.001)
        with pytest.raises(ServerMissing):
            retry.answer(PROMPT)
        waiting.join(20)
        assert len(caught) == 1
    finally:
        BUSY.wait = None


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_key_is_quoted_nowhere(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    echo = Said({"error": {"message": "Bearer sk-secret was used"}}, status=status)
    with serving(lambda path, body: echo) as server, pytest.raises(RecordError) as caught:
        url = server.url.replace("//", "//name:password@")
        against("openai", url, retries=0).answer(PROMPT)
    assert "sk-secret" not in str(caught.value)
    assert "password" not in str(caught.value)
    assert server.url.removeprefix("http://") in str(caught.value)


def test_every_reader_of_a_server_is_covered_here() -> None:
    assert set(READERS) == {"transformers", *REPLY}
