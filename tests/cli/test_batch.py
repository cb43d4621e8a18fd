"""Jobs over many records: broken off, resumed, shared out, merged."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.cli.main import app
from grasp_cli.pipe.errors import GraspError
from grasp_cli.pipe.sources import read_lines
from tests.conftest import GRASP, ROOT, lines
from tests.readers.servers import Said, ollama_reply, serving
from tests.readme_options import README

CONTEXTS = [{"id": "a", "text": "It froze in March. The mill stopped."}]
LEAD = ("compress", "--method", "lead")


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> int:
    """The exit code of a command in this process."""
    try:
        app(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    except GraspError as error:
        sys.stderr.write(str(error))
        return error.exit_code
    return 0


def many(count: int, first: int = 0) -> str:
    records = ({"id": f"q{n}", "question": f"What froze in {n}?"} for n in range(first, count))
    return "".join(json.dumps({**record, "contexts": CONTEXTS}) + "\n" for record in records)


def ids(path: str) -> list[str]:
    return [json.loads(line)["id"] for _, line in read_lines(Path(path))]


def manifest(path: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(Path(f"{path}.manifest.json").read_text())
    return told


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_real_process_is_stopped_and_goes_on(tmp_path: Path, number: int) -> None:
    """`grasp answer` on a slow server: nothing is lost, doubled, or asked twice for nothing."""
    Path("in").write_text(many(12))

    def slow(path: str, body: dict[str, Any]) -> Said:
        time.sleep(0.15)
        return Said(ollama_reply("in 1987"))

    with serving(slow) as server:
        reader = ["--reader", "ollama", "--reader-model", "m", "--url", server.url]
        command = ["answer", "in", "-o", "out", "--concurrency", "1", *reader]
        process = subprocess.Popen(
            [*GRASP, *command], stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        part = Path("out.part")
        while not part.exists() or part.read_bytes().count(b"\n") < 3:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.02)
        process.send_signal(number)
        code = process.wait(20)
        assert process.stderr
        told = process.stderr.read().decode()
        kept, asked = len(ids("out.part")), len(server.asked)
        assert 3 <= kept < 12 and not Path("out").exists()
        if number == signal.SIGTERM:
            assert code == 143 and manifest("out")["exit"] == 143
            assert f"{kept} records are kept in out.part" in told and "12 read" not in told
            again = shlex.split(re.search(r"to go on: grasp (.*)", told).group(1))  # type: ignore[union-attr]
        else:
            assert code == -9 and manifest("out")["exit"] is None
            again = [*command, "--resume"]
        assert call(*again) == 0
        assert len(server.asked) - asked == 12 - kept
    assert ids("out") == [f"q{number}" for number in range(12)]
    assert all(record["answer"] == "in 1987" for record in lines(Path("out").read_text()))
    told_last = manifest("out")
    assert (told_last["skipped"], told_last["written"], told_last["exit"]) == (kept, 12 - kept, 0)
    assert not part.exists()


def test_a_server_that_comes_back(tmp_path: Path) -> None:
    """Retryable failures are done again by --resume, in their place."""
    Path("in").write_text(many(6))
    broken = {"What froze in 1?", "What froze in 4?"}

    def answer(path: str, body: dict[str, Any]) -> Said:
        if any(question in json.dumps(body) for question in broken):
            return Said("busy", 500)
        return Said(ollama_reply("in 1987"))

    with serving(answer) as server:
        command = ["answer", "in", "-o", "out", "--retries", "0", "--concurrency", "1"]
        command += ["--reader", "ollama", "--reader-model", "m", "--url", server.url]
        assert call(*command) == 7
        failed = [record["id"] for record in lines(Path("out").read_text()) if "error" in record]
        assert failed == ["q1", "q4"] and manifest("out")["failed"] == 2
        broken.clear()
        asked = len(server.asked)
        assert call(*command, "--resume", "--read-timeout", "9") == 0  # which is not guarded
        assert len(server.asked) == asked + 2
    assert ids("out") == [f"q{number}" for number in range(6)]
    assert "error" not in Path("out").read_text()


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_the_daily_case(suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    out = f"out.jsonl{suffix}"
    Path("in").write_text(many(40))
    assert call(*LEAD, "in", "-o", out) == 0
    before = Path(out).read_bytes()
    assert call(*LEAD, "in", "-o", out, "--resume") == 0
    assert Path(out).read_bytes() == before
    assert "nothing to do" in capfd.readouterr().err
    Path("in").write_text(many(50))
    assert call(*LEAD, "in", "-o", out, "--resume") == 0
    assert "50 read, 10 written, 40 done before" in capfd.readouterr().err
    assert call(*LEAD, "in", "-o", "whole") == 0
    again = [{**json.loads(line), "compression": None} for _, line in read_lines(Path(out))]
    whole = [{**json.loads(line), "compression": None} for _, line in read_lines(Path("whole"))]
    assert again == whole


def test_other_options_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(many(3))
    assert call(*LEAD, "in", "-o", "out") == 0
    Path("in").write_text(many(4))
    assert call(*LEAD, "--lead-sentences", "2", "in", "-o", "out", "--resume") == 2
    assert "lead_sentences 1, now 2" in capfd.readouterr().err
    assert call(*LEAD, "--window", "7", "--threads", "1", "in", "-o", "out", "--resume") == 0
    assert call("compress", "--method", "none", "in", "-o", "out", "--resume") == 2
    assert 'method "lead", now "none"' in capfd.readouterr().err
    assert call(*LEAD, "in", "--resume") == 2
    assert "-o FILE" in capfd.readouterr().err
    assert call(*LEAD, "in", "-o", "other", "--force") == 2


def test_models_stand_in_the_manifest_by_their_weights(evidence: Any) -> None:
    Path("in").write_text(many(2))
    assert call("compress", "in", "-o", "out", "--classifier", str(evidence.directory)) == 0
    models = manifest("out")["models"]
    assert set(models) == {"coarse", "embedder", "classifier"}
    assert all(re.fullmatch("[0-9a-f]{64}", model["sha256"]) for model in models.values())


def test_shards_merged_are_the_whole(capfd: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(many(60))
    assert call(*LEAD, "in", "-o", "whole") == 0
    for number in (1, 2, 3):
        assert call(*LEAD, "in", "-o", f"s{number}", "--shard", f"{number}/3") == 0
    assert "60 read, " in capfd.readouterr().err
    assert call("merge", "s1", "s2", "s3", "-o", "merged.gz", "--expect", "in") == 0
    assert ids("merged.gz") == ids("whole")
    assert not {*ids("s1")} & {*ids("s2")} and len(ids("s1") + ids("s2") + ids("s3")) == 60
    Path("in").write_text(many(61))  # a merged file is one like any other
    assert call(*LEAD, "in", "-o", "merged.gz", "--resume") == 0
    assert ids("merged.gz")[-1] == "q60" and len(ids("merged.gz")) == 61
    Path("in").write_text(many(60))
    capfd.readouterr()
    assert call("merge", "s1", "s3", "-o", "m") == 4
    assert "in no shard" in capfd.readouterr().err and not Path("m").exists()
    assert call("merge", "s1", "s2", "s3", "s1", "-o", "m") == 4
    assert "twice" in capfd.readouterr().err
    assert call(*LEAD, "--gap", "x", "in", "-o", "s3", "--shard", "3/3") == 0
    assert call("merge", "s1", "s2", "s3", "-o", "m") == 2
    assert "s3 was made otherwise than s1" in capfd.readouterr().err
    assert call("merge", "s1", "s2", "s3", "-o", "m", "--force") == 0
    Path("in").unlink()
    assert call("merge", "s1", "s2", "s3", "-o", "m", "--force") == 2
    assert "-i FILE" in capfd.readouterr().err
    assert call("merge", "s1", "s2", "s3", "-o", "m", "--force", "-i", "whole") == 0


def test_another_shard_is_another_job(capfd: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(many(9))
    assert call(*LEAD, "in", "-o", "out", "--shard", "1/2") == 0
    assert call(*LEAD, "in", "-o", "out", "--shard", "2/2", "--resume") == 2
    assert "shard 1/2, now 2/2" in capfd.readouterr().err


def test_unreadable_lines_are_counted_and_told_at_the_end(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("in").write_text(many(3) + "{oops\n" + many(6, 3) + "[]\n")
    skip = ("--on-error", "skip")
    assert call(*LEAD, "in", "-o", "out", *skip) == 7
    assert "6 read, 6 written, 2 unreadable" in capfd.readouterr().err
    assert manifest("out")["unreadable"] == 2 and manifest("out")["exit"] == 7
    assert call(*LEAD, "in", "-o", "out", *skip, "--resume") == 7  # they are still dropped
    assert call(*LEAD, "in", "-o", "o2", *skip, "--max-errors", "1") == 5
    # How many were written when the second bad line was met depends on how far reading is ahead.
    assert re.search("2 of [5-8] records", capfd.readouterr().err) and not Path("o2").exists()
    keep = ("--on-error", "quarantine", "--quarantine", "bad")
    assert call(*LEAD, "in", "-o", "o3", *keep, "--max-errors", "25%") == 7
    assert [bad["number"] for bad in lines(Path("bad").read_text())] == [4, 8]
    Path("in").write_text(many(3) + "{oops\n" + "{oops\n")
    Path("bad").unlink()
    assert call(*LEAD, "in", "-o", "o4", *keep, "--max-errors", "1") == 5
    assert len(lines(Path("bad").read_text())) == 2  # also where the run is broken off
    capfd.readouterr()
    assert call(*LEAD, "in", "-o", "o5", "--quiet", *skip) == 7
    assert capfd.readouterr() == ("", "")


def _recipe(info: str) -> str:
    """The block of the README that is written in `info`."""
    (block,) = re.findall(rf"^```{info}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.mark.models
def test_the_crontab_recipe(tmp_path: Path) -> None:
    """Night 1 with a server that is gone: a mail. Night 2: silence, and all is answered."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "questions").mkdir()
    for name, text in (
        ("bin/grasp", f'#!/bin/sh\nexec {sys.executable} -m grasp_cli.cli.main "$@"\n'),
        ("nightly.sh", _recipe("bash")),
        ("questions/monday.jsonl", many(3)),
        ("questions/tuesday.jsonl", many(5, 3)),
    ):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    Path("documents").write_text(json.dumps({"id": "mill", "text": "The mill froze in 1987."}))
    assert call("index", "documents") == 0

    settings, job = _recipe("crontab").rsplit("\n", 2)[0], _recipe("crontab").splitlines()[-1]
    minute, hour, *_, command = job.split(" ", 5)
    assert settings.startswith("SHELL=/bin/bash\n") and (minute, hour) == ("15", "2")
    assert "set -euo pipefail" in _recipe("bash")
    said = Said(ollama_reply("in 1987"))
    with serving(lambda path, body: said) as server:

        def night(address: str) -> str:
            environment = {
                **os.environ,
                "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "OLLAMA_HOST": address,
                "GRASP_RETRIEVE_MODE": "sparse",  # loads nothing
                "GRASP_COMPRESS_METHOD": "lead",
                "GRASP_ANSWER_RETRIES": "0",
                "GRASP_ANSWER_CONCURRENCY": "1",
                "GRASP_ANSWER_GIVE_UP_AFTER": "2",
            }
            done = subprocess.run(
                ["bash", "-c", command.replace("/srv/rag", str(tmp_path))],
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.stderr == ""
            return done.stdout

        mail = night("http://127.0.0.1:9")
        assert mail.startswith("nightly.sh: exit 3\n") and "127.0.0.1:9" in mail
        assert ids("compressed.jsonl") == [f"q{number}" for number in range(5)]
        Path("questions/wednesday.jsonl").write_text(many(7, 5))
        assert night(server.url) == ""
        assert len(server.asked) == 7
    assert ids("answered.jsonl") == [f"q{number}" for number in range(7)]
    assert "error" not in Path("answered.jsonl").read_text()


@pytest.mark.models
def test_another_index_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(many(2))
    retrieve = ("retrieve", "--mode", "sparse", "in", "-o", "out")
    for text in ("The mill froze.", "The mill burned."):
        Path("documents").write_text(json.dumps({"id": "mill", "text": text}))
        assert call("index", "documents") == 0
        if text == "The mill froze.":
            assert call(*retrieve) == 0
            Path("in").write_text(many(3))
    capfd.readouterr()
    assert call(*retrieve, "--resume") == 2
    assert re.search(r"index \w{12}…, now \w{12}…", capfd.readouterr().err)
    assert call(*retrieve, "--resume", "--force") == 0
    assert ids("out") == ["q0", "q1", "q2"]
    assert manifest("out")["models"]["dense"]["name"] == "all-MiniLM-L6-v2"
