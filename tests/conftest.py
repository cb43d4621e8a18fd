"""Shared fixtures: where the data is, and how the command is run as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GRASP = [sys.executable, "-m", "grasp_cli.cli.main"]

settings.register_profile("busy machine", deadline=None)  # a slow moment is not a failure
settings.load_profile("busy machine")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def shared(relative: str) -> Path:
    """A path of the data beside the checkout; skips the test where it is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"needs ../shared/{relative}, which is not here")
    return path


def interruptible() -> None:
    """For `preexec_fn`: undo an ignored SIGINT, which a background job hands on to its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def lines(text: str) -> list[dict[str, Any]]:
    """JSONL text as objects."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def grasp(tmp_path: Path) -> Run:
    """Run `grasp ARGS…` in a real process, in an empty directory; text in, text out."""

    def run(*args: str, stdin: str | bytes | None = "", **environment: str) -> Any:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*GRASP, *args],
            input=data,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=300,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small evidence classifier, trained once for all tests: `tests.training.synthetic`."""
    from tests.training.synthetic import small

    return small(tmp_path_factory.mktemp("evidence"))
