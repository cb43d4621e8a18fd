"""Real processes in real pipes. `--method lead` needs no model, so these are fast."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.conftest import GRASP, Run, interruptible, lines

RECORD = {"id": "1", "question": "What froze?", "contexts": [{"id": "a", "text": "Ice. Snow."}]}
LEAD = [*GRASP, "compress", "--method", "lead"]


def many(count: int) -> str:
    return "".join(json.dumps({**RECORD, "id": str(number)}) + "\n" for number in range(count))


def start(*command: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )  # type: ignore[call-overload, no-any-return]


def test_the_first_record_comes_out_before_the_second_goes_in() -> None:
    process = start(*LEAD)
    assert process.stdin and process.stdout
    for number in range(3):
        process.stdin.write(json.dumps({**RECORD, "id": str(number)}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == str(number)
    process.stdin.close()
    assert process.stdout.read() == b"" and process.wait(20) == 0


def test_a_chain_passes_each_record_on_at_once() -> None:
    first = start(*LEAD)
    second = subprocess.Popen(LEAD, stdin=first.stdout, stdout=subprocess.PIPE)
    assert first.stdin and second.stdout
    first.stdin.write(json.dumps(RECORD).encode() + b"\n")
    first.stdin.flush()
    assert json.loads(second.stdout.readline())["context"] == "Ice."
    first.stdin.close()
    assert second.wait(20) == 0 and first.wait(20) == 0


def test_head_closes_the_pipe_quietly_with_141(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(many(20000))
    script = f"{' '.join(LEAD)} in.jsonl 2>err | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    record, code = done.stdout.splitlines()
    assert json.loads(record)["id"] == "0"
    assert code == "141" and (tmp_path / "err").read_text() == ""


@pytest.mark.parametrize(
    ("busy", "number", "code"), [(True, signal.SIGINT, 130), (False, signal.SIGTERM, 143)]
)
def test_a_signal_ends_it_without_a_traceback_and_says_how_to_go_on(
    tmp_path: Path, busy: bool, number: int, code: int
) -> None:
    target, part = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    process = start(*LEAD, "-o", str(target), preexec_fn=interruptible)
    assert process.stdin and process.stderr
    process.stdin.write(many(2 if not busy else 300).encode())
    process.stdin.flush()
    while not part.exists() or part.read_bytes().count(b"\n") < 2:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(20) == code
    told = process.stderr.read().decode()
    assert "Traceback" not in told and "Abort" not in told
    assert f"{part}; to go on: grasp compress --method lead -o {target} --resume" in told
    assert not target.exists() and {line["id"] for line in lines(part.read_text())} >= {"0", "1"}


def test_a_reader_that_does_not_read_cannot_hold_us(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(many(2000))
    process = start(*LEAD, str(tmp_path / "in.jsonl"))
    assert process.stdout
    room, full = bytearray(4), -1
    while int.from_bytes(room, sys.byteorder) != full or full < 1000:  # until the pipe is full
        full = int.from_bytes(room, sys.byteorder)
        time.sleep(0.5)
        fcntl.ioctl(process.stdout, termios.FIONREAD, room)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)  # the second does not wait
    assert process.wait(20) == 143
    assert process.stderr and "Error" not in process.stderr.read().decode()


def test_no_record_is_exit_4_and_leaves_the_old_file(grasp: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old\n")
    for text in ("", "\n\n"):
        done = grasp("compress", "--method", "lead", "-o", "out.jsonl", stdin=text)
        assert done.returncode == 4 and "no record at all" in done.stderr
        assert target.read_text() == "old\n"
    assert grasp("compress", "--method", "lead", "-o", "out.jsonl", "--allow-empty").returncode == 0
    assert target.read_text() == ""


def test_expect_refuses_a_short_output(grasp: Run, tmp_path: Path) -> None:
    done = grasp("compress", "--method", "lead", "-o", "o", "--expect", "3", stdin=many(2))
    assert done.returncode == 4 and "--expect 3: 2 records" in done.stderr
    assert not (tmp_path / "o").exists()
    assert grasp("compress", "--method", "lead", "--expect", "2", stdin=many(2)).returncode == 0


def test_a_bad_line_ends_with_4_after_what_came_before(grasp: Run) -> None:
    done = grasp("compress", "--method", "lead", stdin=many(2) + '{"id": 1, "question": "x"\n')
    assert done.returncode == 4
    assert "stdin:3:26" in done.stderr and '{"id": 1' in done.stderr
    assert [record["id"] for record in lines(done.stdout)] == ["0", "1"]


def test_quarantine_keeps_the_line_with_its_number_and_the_rest_passes(
    grasp: Run, tmp_path: Path
) -> None:
    text = many(1) + "{oops\n" + many(2).splitlines()[1] + "\n"
    lead = ("compress", "--method", "lead")
    done = grasp(*lead, "--on-error", "quarantine", "--quarantine", "bad", stdin=text)
    assert done.returncode == 7
    assert [record["id"] for record in lines(done.stdout)] == ["0", "1"]
    (bad,) = lines((tmp_path / "bad").read_text())
    assert (bad["number"], bad["line"]) == (2, "{oops")
    done = grasp("compress", "--method", "lead", "--on-error", "skip", stdin=text)
    assert done.returncode == 7 and len(lines(done.stdout)) == 2
    done = grasp("compress", "--method", "lead", "--on-error", "quarantine", stdin=text)
    assert done.returncode == 2 and "--quarantine FILE" in done.stderr


@pytest.mark.parametrize(
    ("raw", "code", "told"),
    [
        ('{"id":"1","question":"x","score":NaN}', 4, "NaN is not JSON"),
        ('[{"id":"1","question":"x"}]', 4, "jq -c"),
        ('{"id":"1","question":"x"}\n{"id":"1","question":"y"}', 4, "stdin:1"),
        ('\ufeff{"id":"1","question":"x","contexts":[]}\n\n{"id":"2","question":"y"}', 0, "2 read"),
        ('{"id":"1","question":"x","contexts":[],"big":12345678901234567890123}', 0, "1 read"),
    ],
    ids=["NaN", "array", "duplicate ids", "bom and blank lines", "big integer"],
)
def test_cases_of_any_stage(grasp: Run, raw: str, code: int, told: str) -> None:
    done = grasp("compress", "--method", "none", stdin=raw)
    assert done.returncode == code and told in done.stderr
    if "big" in raw:
        assert '"big":12345678901234567890123' in done.stdout


def test_several_files_and_stdin_are_read_in_turn(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(many(1))
    done = grasp("compress", "--method", "none", "a", "-", stdin=many(2).splitlines()[1])
    assert [record["id"] for record in lines(done.stdout)] == ["0", "1"]


def test_a_terminal_as_input_is_a_usage_error() -> None:
    leader, follower = os.openpty()
    done = subprocess.run([*GRASP, "compress"], stdin=follower, capture_output=True, timeout=30)
    os.close(leader)
    os.close(follower)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1 and "usage: grasp compress" in done.stderr.decode()


@pytest.mark.parametrize(
    "verb", ["index", "retrieve", "compress", "answer", "evaluate", "convert", "models"]
)
def test_help_loads_no_heavy_module(verb: str) -> None:
    code = (
        "import sys\nfrom grasp_cli.cli.main import app\n"
        f"try:\n    app(['{verb}', '--help'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'torch', 'transformers', 'nltk', 'numpy', 'faiss', 'scipy', 'ollama', 'httpx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout


def test_a_long_stream_needs_little_memory() -> None:
    """Peak memory of 40,000 records is within 60 MiB of that of 2,000 (ids are remembered)."""

    def peak(count: int) -> int:
        script = (
            "import resource, sys\nfrom grasp_cli.cli.main import app\n"
            "try:\n    app(['compress', '--method', 'lead', '--quiet'])\n"
            "except SystemExit:\n    pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stdin and process.stderr
        for number in range(count):
            process.stdin.write(json.dumps({**RECORD, "id": str(number)}).encode() + b"\n")
        process.stdin.close()
        kilobytes = int(process.stderr.read())
        process.wait(60)
        return kilobytes

    assert peak(40000) - peak(2000) < 60 * 1024
