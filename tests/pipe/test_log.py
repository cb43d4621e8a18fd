from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator

import pytest

from grasp_cli.pipe import log
from grasp_cli.pipe.log import LOG, hush_libraries


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    LOG.start("")


def test_text_names_the_stage_and_errors_only_grasp(capsys: pytest.CaptureFixture[str]) -> None:
    LOG.start("compress")
    LOG.say("3 read")
    LOG.error("x.jsonl:3: not JSON")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "grasp compress: 3 read\ngrasp: x.jsonl:3: not JSON\n")


def test_quiet_leaves_errors(capsys: pytest.CaptureFixture[str]) -> None:
    LOG.start("compress", quiet=True)
    LOG.say("3 read")
    LOG.error("lost")
    assert capsys.readouterr().err == "grasp: lost\n"


def test_json_lines_parse_and_carry_facts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "tiger-42-lily")
    LOG.start("answer", as_json=True)
    LOG.say('two\nlines "tiger-42-lily"', event="done", read=3)
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert told.pop("time").endswith("Z")
    assert told == {
        "level": "info",
        "stage": "answer",
        "message": 'two\nlines "***"',
        "event": "done",
        "read": 3,
    }


def test_what_a_message_quotes_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    LOG.start("compress")
    LOG.say("not JSON: \x1b[2J\r\x07\x9b\tend")
    assert capsys.readouterr().err == "grasp compress: not JSON: \\x1b[2J\\x0d\\x07\\x9b\tend\n"


def test_warnings_and_log_lines_of_libraries_become_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = logging.getLogger().handlers[:]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        LOG.start("compress")
        hush_libraries()
        warnings.warn("two\nrows", UserWarning, stacklevel=1)
        logging.getLogger("some.library").warning("careful %d", 7)
        logging.getLogger("some.library").info("chatter")
    logging.getLogger().handlers[:] = before
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("grasp compress: UserWarning: two rows (") and "test_log.py:" in first
    assert second == "grasp compress: some.library: careful 7"


def test_nobody_listening_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, text: str) -> None:
            raise BrokenPipeError

    for stderr in (Gone(), None):
        monkeypatch.setattr(log.sys, "stderr", stderr)
        LOG.say("hello")
