"""What every verb has, and that it is in effect before the verb begins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from grasp_cli import defaults
from grasp_cli.cli.main import app
from grasp_cli.cli.options import Stream, run
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.log import LOG
from tests.readme_options import leaves


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    LOG.start("")
    LIMITS.line_mb = defaults.INPUT.max_line_mb


def test_every_verb_has_them() -> None:
    command: Any = typer.main.get_command(app)
    for verb, sub in leaves(command):
        names = {name for parameter in sub.params for name in parameter.opts}
        assert {"--progress", "--log-format"} <= names, verb
        reads = {"inputs", "files"} & {parameter.name for parameter in sub.params}
        assert ("--max-line-mb" in names) == bool(reads), verb


def test_a_line_that_is_too_long_by_the_option(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    record = {"id": "1", "question": "x", "contexts": [], "more": "y" * (1 << 20)}
    path.write_text(json.dumps(record) + "\n")
    argv = ["compress", "--method", "none", str(path), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*argv, "--max-line-mb", "1"])
    assert isinstance(done.exception, DataError)
    assert str(done.exception).startswith(f"{path}:1: the line is longer than 1 MB")
    assert CliRunner().invoke(app, [*argv, "--max-line-mb", "2"]).exit_code == 0


def test_what_a_library_prints_is_no_data(capfd: pytest.CaptureFixture[str]) -> None:
    class Chatty:
        name, window = "chatty", 2

        def process(self, records: Any) -> Any:
            print("loading …")
            return records

    run(Chatty(), Stream("chatty", []), [{"id": "1", "question": "x"}])
    out, err = capfd.readouterr()
    assert out == '{"id":"1","question":"x"}\n' and "loading …" in err
