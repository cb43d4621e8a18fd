"""`grasp explain` as used: a real process on a small record."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GRASP, Run, lines


def record(name: str, **more: Any) -> dict[str, Any]:
    sentences = [
        {"start": 0, "end": 4, "kind": "sentence", "coarse": 0.9, "survived": True, "unit": 0,
         "score": 0.8, "kept": True, "why": "kept"},
        {"start": 5, "end": 10, "kind": "sentence", "coarse": 0.1, "survived": False,
         "kept": False, "why": "coarse"},
    ]  # fmt: skip
    return {
        "id": name,
        "question": f"What of {name}?",
        "contexts": [{"id": "a", "text": "Ice. Snow."}],
        "explain": [{"context": "a", "sentences": sentences}],
        **more,
    }


def text(*names: str) -> str:
    return "".join(json.dumps(record(name)) + "\n" for name in names)


def test_a_pipe_gets_plain_marks(grasp: Run) -> None:
    done = grasp("explain", stdin=text("q1"), COLUMNS="80")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert "q1  What of q1?" in done.stdout
    assert "+  kept       0.90 u0 0.80  Ice." in done.stdout
    assert "-  coarse     0.10          Snow." in done.stdout
    assert "+ kept  - dropped" in done.stdout


def in_terminal(path: Path, **environment: str) -> str:
    parent, child = pty.openpty()
    subprocess.run(
        [*GRASP, "explain", str(path)],
        stdout=child,
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=60,
        check=True,
    )
    os.close(child)
    shown = b""
    while True:
        try:
            shown += os.read(parent, 4096)
        except OSError:  # all was read
            break
    os.close(parent)
    return shown.decode()


def test_a_terminal_gets_colour_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text("q1"))
    assert "\x1b[2m" in in_terminal(path)  # dropped text is dimmed
    assert "\x1b" not in in_terminal(path, NO_COLOR="1")


def test_ids_and_limit_choose_records(grasp: Run) -> None:
    three = text("q1", "q2", "q3")
    shown = grasp("explain", "--id", "q3", "--id", "q1", stdin=three).stdout
    assert "What of q1?" in shown and "What of q3?" in shown and "What of q2?" not in shown
    shown = grasp("explain", "--limit", "2", stdin=three).stdout
    assert "What of q2?" in shown and "What of q3?" not in shown
    missing = grasp("explain", "--id", "q9", stdin=three)
    assert missing.returncode == 4 and "no record is called 'q9'" in missing.stderr
    assert grasp("explain", stdin="").returncode == 4
    assert grasp("explain", "--allow-empty", stdin="").returncode == 0


def test_a_page_appears_whole_or_not_at_all(grasp: Run, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    done = grasp("explain", "--html", "out.html", stdin=text("q1", "q2"))
    assert done.returncode == 0 and done.stdout == ""
    assert "2 records: out.html" in done.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert page.read_text().rstrip().endswith("</html>")
    assert "What of q2?" in page.read_text()
    page.write_text("old")
    broken = json.dumps(record("q3", explain=3)) + "\n"
    done = grasp("explain", "--html", "out.html", stdin=text("q1") + broken)
    assert done.returncode == 4 and 'record "q3"' in done.stderr and "Traceback" not in done.stderr
    assert grasp("explain", "--html", "out.html", stdin="").returncode == 4
    assert page.read_text() == "old" and os.listdir(tmp_path) == ["out.html"]
    assert grasp("explain", "--html", "-", stdin=text("q1")).stdout.startswith("<!DOCTYPE html>")


def test_an_input_is_never_overwritten(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(text("q1"))
    done = grasp("explain", "x.jsonl", "--html", "x.jsonl")
    assert done.returncode == 2
    assert lines((tmp_path / "x.jsonl").read_text())[0]["id"] == "q1"


@pytest.mark.parametrize("option", [[], ["--html", "-"]])
def test_what_compress_writes_is_understood(grasp: Run, option: list[str]) -> None:
    bare = {"id": "q1", "question": "What?", "contexts": [{"id": "a", "text": "Ice. Snow."}]}
    command = ("compress", "--method", "lead", "--quiet")
    compressed = grasp(*command, "--explain", stdin=json.dumps(bare)).stdout
    assert [s["why"] for s in lines(compressed)[0]["explain"][0]["sentences"]] == ["kept", "method"]
    assert "method" in grasp("explain", *option, stdin=compressed).stdout
    without = grasp(*command, stdin=json.dumps(bare)).stdout
    assert "explain" not in lines(without)[0]
    assert "dropped" in grasp("explain", *option, stdin=without).stdout


def test_no_heavy_library_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text("q1"))
    code = (
        "import sys; from grasp_cli.cli.main import app\n"
        f"for more in ([], ['--html', {str(tmp_path / 'x.html')!r}]):\n"
        f"    try: app(['explain', {str(path)!r}, *more])\n"
        "    except SystemExit: pass\n"
        "print([n for n in ('torch', 'transformers', 'numpy', 'nltk') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
