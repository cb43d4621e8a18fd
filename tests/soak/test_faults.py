"""What can go wrong around a job: each fault has its sentence and its exit code, and loses nothing.

The runs are real processes (`launcher`); where a fault can be undone, --resume then finishes the
job, and the output is that of a job that met no fault.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.soak.kills import without_times, write_input
from tests.soak.launcher import Launcher
from tests.soak.server import CALM, answer_to, serving

COUNT = 200


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    with Launcher(tmp_path_factory.mktemp("launcher")) as running:
        yield running


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_input("compress", tmp_path / "in.jsonl", COUNT)


def lead(source: Path, output: Path, *more: str) -> list[str]:
    return ["compress", "--method", "lead", str(source), "-o", str(output), *more]


def records(path: Path) -> list[dict[str, Any]]:
    return [without_times(json.loads(line)) for line in path.read_bytes().splitlines()]


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in found]


EVERY = [f"r{number}" for number in range(COUNT)]


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of that size; skips where none may be mounted."""
    folder = place / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_keeps_whole_records_and_the_job_goes_on_when_there_is_room(
    launcher: Launcher, tmp_path: Path, source: Path
) -> None:
    whole = tmp_path / "whole.jsonl"
    assert launcher.run(*lead(source, whole)).code == 0
    with small_disk(tmp_path, 64) as disk:
        output = disk / "out.jsonl"
        ran = launcher.run(*lead(source, output))
        assert ran.code == 5 and "No space left on device" in ran.stderr
        assert "Traceback" not in ran.stderr and not output.exists()
        kept = ids(records(disk / "out.jsonl.part"))
        assert 0 < len(kept) < COUNT and kept == EVERY[: len(kept)]
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        ran = launcher.run(*lead(source, output, "--resume"))
        assert ran.code == 0 and f"{len(kept)} done before" in ran.stderr
        assert records(output) == records(whole)


def test_a_file_that_may_grow_no_further(launcher: Launcher, tmp_path: Path, source: Path) -> None:
    """As with a quota; needs no file system of its own."""
    output = tmp_path / "out.jsonl"
    ran = launcher.run(*lead(source, output), largest_file=40_000)
    assert ran.code == 5 and "writing failed: File too large" in ran.stderr
    kept = ids(records(tmp_path / "out.jsonl.part"))
    assert 0 < len(kept) < COUNT and kept == EVERY[: len(kept)]
    assert launcher.run(*lead(source, output, "--resume")).code == 0
    assert ids(records(output)) == EVERY


def test_standard_output_that_is_full(launcher: Launcher, source: Path) -> None:
    ran = launcher.run("compress", "--method", "lead", source, stdout="/dev/full")
    assert ran.code == 5 and "standard output: writing failed: No space left" in ran.stderr


def test_a_directory_that_cannot_be_written_to(
    launcher: Launcher, tmp_path: Path, source: Path
) -> None:
    """One that is mounted read-only: what its mode forbids, root may do all the same."""
    with small_disk(tmp_path, 64) as disk:
        (disk / "out.jsonl").write_text("old\n")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for more in ([], ["--resume", "--force"]):
            ran = launcher.run(*lead(source, disk / "out.jsonl", *more))
            assert ran.code == 5 and "cannot be written: Read-only file system" in ran.stderr
        assert [path.name for path in disk.iterdir()] == ["out.jsonl"]
        assert (disk / "out.jsonl").read_text() == "old\n"


def test_an_output_that_is_deleted_under_way(
    launcher: Launcher, tmp_path: Path, source: Path
) -> None:
    output, part, pipe = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part", tmp_path / "pipe"
    os.mkfifo(pipe)
    launcher.begin("compress", "--method", "lead", "-", "-o", output, stdin=str(pipe))
    lines = source.read_bytes().splitlines(keepends=True)
    with open(pipe, "wb", buffering=0) as stream:
        stream.write(b"".join(lines[:40]))
        wait_for(lambda: part.exists() and len(part.read_bytes().splitlines()) == 40)
        part.unlink()
        stream.write(b"".join(lines[40:80]))
    ran = launcher.end()
    assert ran.code == 5 and "out.jsonl.part" in ran.stderr and "Traceback" not in ran.stderr
    assert not output.exists()
    assert launcher.run(*lead(source, output, "--resume", "--force")).code == 0
    assert ids(records(output)) == EVERY


def test_two_jobs_on_one_output(launcher: Launcher, tmp_path: Path, source: Path) -> None:
    output, part, pipe = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part", tmp_path / "pipe"
    os.mkfifo(pipe)
    first = launcher.aside("compress", "--method", "lead", "-", "-o", output, stdin=str(pipe))
    lines = source.read_bytes().splitlines(keepends=True)
    with open(pipe, "wb", buffering=0) as stream:
        stream.write(b"".join(lines[:40]))
        wait_for(lambda: part.exists() and len(part.read_bytes().splitlines()) == 40)
        for more in ([], ["--resume"]):
            ran = launcher.run(*lead(source, output, *more))
            assert ran.code == 5 and "another grasp is writing this file" in ran.stderr
        stream.write(b"".join(lines[40:]))
    assert launcher.wait(first) == 0
    assert ids(records(output)) == EVERY


@contextmanager
def deaf_server() -> Iterator[str]:
    """It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        held, over = [], threading.Event()

        def accept() -> None:
            while not over.is_set():
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        over.set()
        for connection in held:
            connection.close()


def test_a_server_that_accepts_and_never_answers(launcher: Launcher, tmp_path: Path) -> None:
    source, output = write_input("answer", tmp_path / "in.jsonl", 40), tmp_path / "out.jsonl"
    argv = ["answer", "--reader", "openai", "--reader-model", "m", source, "-o", output]
    argv += ["--read-timeout", "0.2", "--retries", "0", "--resume"]
    with deaf_server() as url:
        ran = launcher.run(*argv, "--url", url)
    assert ran.code in (3, 5) and "Traceback" not in ran.stderr
    left = output if output.exists() else tmp_path / "out.jsonl.part"
    if left.exists():
        assert all(record["error"]["retryable"] for record in records(left))
        assert "0.2 s" in records(left)[0]["error"]["message"]
    else:
        assert "0.2 s" in ran.stderr or "answer" in ran.stderr
    with serving(CALM) as url:
        ran = launcher.run(*argv, "--url", url)
    assert ran.code == 0, ran.stderr
    found = records(output)
    assert ids(found) == EVERY[:10] and not any("error" in record for record in found)
    assert len(found[0]["answer"]) == len(answer_to([]))


def test_a_clock_that_is_set_back(launcher: Launcher, tmp_path: Path, source: Path) -> None:
    output = tmp_path / "out.jsonl"
    ran = launcher.run(*lead(source, output), clock_back=True)
    assert ran.code == 0 and ids(records(output)) == EVERY
    told = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert 0 <= told["seconds"] < 300
    assert all(json.loads(line)["compression"]["seconds"] >= 0 for line in output.open())


def wait_for(met: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)
