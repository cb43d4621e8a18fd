"""`--dry-run`: the plan, and nothing but the plan."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from grasp_cli.cli.main import app
from grasp_cli.cli.plan import ASKED
from grasp_cli.pipe.errors import DataError, MissingError, UsageError
from tests.compression import tiny

RECORD = {"id": "one", "question": "Where was Ada born?", "contexts": ["Ada was born in Leith."]}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with one record, no configuration, and no way out of the process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "GRASP_PROFILE", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    Path("r.jsonl").write_text(json.dumps(RECORD) + "\n{never read\n")

    def refuse(*_: Any) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--dry-run"])


def plan(*arguments: str) -> list[list[str]]:
    done = invoke(*arguments)
    assert done.exit_code == 0, done.exception
    return [line.split() for line in done.stdout.splitlines()]


def refused(*arguments: str) -> BaseException:
    error = invoke(*arguments).exception
    assert error is not None
    return error


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(tiny.bert(tmp_path / "bert"))


def compress(model: str, *more: str) -> list[str]:
    return ["compress", "r.jsonl", "--method", "embeddings-filter", "--compressor", model,
            "--embedder", model, "--tokenizer", model, *more]  # fmt: skip


def test_settings_with_their_sources(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("grasp.toml").write_text('gap = "+"')
    monkeypatch.setenv("GRASP_MAX_TOKENS", "77")
    rows = plan(*compress(model, "--unit", "sentence", "-o", "out.jsonl"))
    assert ["option", "gap", "+", "grasp.toml"] in rows
    assert ["option", "max-tokens", "77", "$GRASP_MAX_TOKENS"] in rows
    assert ["option", "unit", "sentence", "command", "line"] in rows
    assert ["option", "window", "32", "default"] in rows
    assert ["option", "top-k-spans", "20", "default"] in rows  # the method's own
    assert ["input", "r.jsonl"] in rows and ["output", "out.jsonl"] in rows
    assert any(row[:3] == ["first", "record", "one"] and "1" in row for row in rows)
    (found,) = [row for row in rows if row[0] == "model"]
    assert found[1] == "embedder" and "MB" in found
    assert {path.name for path in Path().iterdir()} == {"r.jsonl", "grasp.toml", "bert"}


def test_an_output_that_is_there_is_left_alone(model: str) -> None:
    Path("out.jsonl").write_text("mine")
    (row,) = [row for row in plan(*compress(model, "-o", "out.jsonl")) if row[0] == "output"]
    assert "replaced" in " ".join(row)
    assert Path("out.jsonl").read_text() == "mine"


def test_what_would_end_the_run_ends_the_plan(model: str) -> None:
    assert isinstance(refused(*compress("no/such-model")), MissingError)
    assert isinstance(refused(*compress(model, "-o", "r.jsonl")), UsageError)
    Path("r.jsonl").write_text("{broken\n")
    assert isinstance(refused(*compress(model)), DataError)
    Path("r.jsonl").write_text("")
    assert isinstance(refused(*compress(model)), DataError)


def test_a_server_is_named_and_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://name:password@far:1")
    rows = plan("answer", "r.jsonl", "--reader", "ollama", "--reader-model", "tiny:1")
    assert [
        "model",
        "reader",
        "tiny:1,",
        "on",
        "a",
        "server",
        "that",
        "was",
        "not",
        "asked",
    ] in rows
    assert ["option", "url", "http://***@far:1", "default"] in rows
    assert ["option", "reader-model", "tiny:1", "command", "line"] in rows
    assert ["option", "max-new-tokens", "32", "default"] in rows


def test_a_question_and_an_index(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(refused("retrieve", "-q", "Who?"), MissingError)
    Path("d.jsonl").write_text('{"id": "d1", "text": "Ada was born in Leith."}\n')
    rows = plan("index", "d.jsonl", "--dense-model", model, "--stem", "english")
    assert any(row[:3] == ["first", "record", "d1"] for row in rows)
    assert ["option", "stem", "english", "command", "line"] in rows
    assert not Path("grasp_index").exists()
    made = CliRunner().invoke(app, ["index", "d.jsonl", "--dense-model", model, "--quiet"])
    assert made.exit_code == 0, made.exception
    rows = plan("retrieve", "-q", "Who?", "-k", "3")
    assert ["option", "top-k", "3", "command", "line"] in rows
    assert [row[1] for row in rows if row[0] == "model"] == ["dense"]
    assert any(row[0] == "index" for row in rows)


def test_the_next_run_is_a_real_one(model: str) -> None:
    plan(*compress(model))
    done = CliRunner().invoke(app, [*compress(model, "-o", "out.jsonl"), "--on-error", "skip"])
    assert ASKED.context is None
    assert done.exit_code == 7  # the unreadable line, which the plan did not come to
    assert json.loads(Path("out.jsonl").read_text())["id"] == "one"
