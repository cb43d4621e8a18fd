"""Interrupted builds: killed anywhere, resumed to the very bytes of an uninterrupted one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.defaults import INDEX
from grasp_cli.pipe.errors import DataError, ProcessingError, UsageError
from grasp_cli.retrieval import workplace, writer
from grasp_cli.retrieval.store import Index, Manifest
from grasp_cli.retrieval.workplace import building_of, interrupted
from grasp_cli.retrieval.writer import Built, Settings, build
from tests.conftest import ROOT
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.test_store import content

SETTINGS = Settings("hashing", "0", passage_words=5)
WINDOW = 20


def documents(count: int = 200) -> list[dict[str, Any]]:
    """One to three passages each; every ninth is blank."""
    return [
        {"id": f"d{n}", "text": "" if n % 9 == 4 else "One two of it. " * (n % 3 + 1) + f"w{n}."}
        for n in range(count)
    ]


class Stopped(Exception):
    """In place of a signal."""


def until(given: list[dict[str, Any]], stop: int) -> Iterator[dict[str, Any]]:
    yield from given[:stop]
    raise Stopped


@pytest.fixture(autouse=True)
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "INDEX", type(INDEX)(window=WINDOW))


def interrupt(directory: Path, stop: int, **options: Any) -> None:
    with pytest.raises(Stopped):
        build(until(documents(), stop), directory, SETTINGS, HashingEncoder(), **options)


def resume(directory: Path, given: Any = None, settings: Settings = SETTINGS) -> Built:
    found = documents() if given is None else given
    return build(found, directory, settings, HashingEncoder(), resume=True)


@pytest.mark.parametrize("stop", [0, 1, 19, 20, 21, 60, 199, 200])
def test_goes_on_from_the_last_finished_block(stop: int, tmp_path: Path) -> None:
    build(documents(), tmp_path / "whole", SETTINGS, HashingEncoder())
    interrupt(tmp_path / "x", stop)
    kept = interrupted(tmp_path / "x")
    assert (kept or 0) >= min(stop, 200) - WINDOW
    assert not (tmp_path / "x").exists()
    built = resume(tmp_path / "x")
    assert built.resumed == (kept or 0)
    assert content(tmp_path / "x") == content(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole", "x"]


def test_interrupted_again_and_again(tmp_path: Path) -> None:
    build(documents(), tmp_path / "whole", SETTINGS, HashingEncoder())
    for stop in (50, 90, 91, 150):
        interrupt(tmp_path / "x", stop, resume=True)
    resume(tmp_path / "x")
    assert content(tmp_path / "x") == content(tmp_path / "whole")


def test_what_was_finished_is_not_encoded_again(tmp_path: Path) -> None:
    interrupt(tmp_path / "x", 100)
    kept, encoder = interrupted(tmp_path / "x"), HashingEncoder()
    built = build(documents(), tmp_path / "x", SETTINGS, encoder, resume=True)
    assert kept and sum(encoder.batches) == built.manifest.passages - kept


def test_nothing_to_resume_is_an_ordinary_build(tmp_path: Path) -> None:
    assert resume(tmp_path / "x").resumed == 0
    assert Index(tmp_path / "x").manifest.documents == 200


def test_without_resume_it_starts_over(tmp_path: Path) -> None:
    interrupt(tmp_path / "x", 100)
    other = [{"id": "a", "text": "ice"}]
    build(other, tmp_path / "x", SETTINGS, HashingEncoder())
    build(other, tmp_path / "y", SETTINGS, HashingEncoder())
    assert content(tmp_path / "x") == content(tmp_path / "y")


def test_half_a_block_is_cut_off(tmp_path: Path) -> None:
    build(documents(), tmp_path / "whole", SETTINGS, HashingEncoder())
    interrupt(tmp_path / "x", 100)
    for name in ("passages.jsonl", "vectors.bin", "blank.jsonl"):
        with open(building_of(tmp_path / "x") / name, "ab") as stream:
            stream.write(b"half of")
    resume(tmp_path / "x")
    assert content(tmp_path / "x") == content(tmp_path / "whole")


def changed(number: int) -> list[dict[str, Any]]:
    return [
        {**d, "text": d["text"] + " new"} if d["id"] == f"d{number}" else d for d in documents()
    ]


def test_other_documents_are_refused(tmp_path: Path) -> None:
    for given in (changed(3), documents(30), documents()[1:], []):
        interrupt(tmp_path / "x", 100)
        with pytest.raises(DataError, match="leave --resume out to start over"):
            resume(tmp_path / "x", given)
        assert not (tmp_path / "x").exists()
    assert resume(tmp_path / "x", changed(150)).manifest.documents == 200


def test_other_settings_are_refused(tmp_path: Path) -> None:
    interrupt(tmp_path / "x", 100)
    with pytest.raises(UsageError, match=r"passage_words was 5, is 9"):
        resume(tmp_path / "x", settings=Settings("hashing", "0", passage_words=9))


def test_a_file_that_lost_its_end_is_refused(tmp_path: Path) -> None:
    interrupt(tmp_path / "x", 100)
    os.truncate(building_of(tmp_path / "x") / "vectors.bin", 5)
    with pytest.raises(ProcessingError, match="damaged"):
        resume(tmp_path / "x")


def test_appending_is_resumed_and_the_old_index_stays_until_then(tmp_path: Path) -> None:
    old = [{"id": "d3", "text": "an older one"}, {"id": "z", "text": "ice"}]
    build(old, tmp_path / "x", SETTINGS, HashingEncoder())
    before, base = content(tmp_path / "x"), Index(tmp_path / "x")
    interrupt(tmp_path / "x", 100, base=base, delete={"z"})
    assert content(tmp_path / "x") == before
    options: dict[str, Any] = {"base": Index(tmp_path / "x"), "resume": True}
    with pytest.raises(UsageError, match="other settings"):
        build(documents(), tmp_path / "x", SETTINGS, HashingEncoder(), **options)
    build(documents(), tmp_path / "x", SETTINGS, HashingEncoder(), delete={"z"}, **options)
    build(documents(), tmp_path / "anew", SETTINGS, HashingEncoder())
    assert content(tmp_path / "x") == content(tmp_path / "anew")


def test_killed_when_the_new_index_already_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last rename and the removal of the note there is nothing left to go on with."""
    build([{"id": "z", "text": "ice"}], tmp_path / "x", SETTINGS, HashingEncoder())
    given, options = documents(), {"base": Index(tmp_path / "x"), "resume": True}

    def killed(building: Path) -> None:
        raise Stopped

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(workplace, "_forget", killed)
        build(given, tmp_path / "x", SETTINGS, HashingEncoder(), **options)
    assert building_of(tmp_path / "x").exists() and interrupted(tmp_path / "x") is None
    whole = content(tmp_path / "x")
    assert Index(tmp_path / "x").manifest.documents == 201
    options["base"] = Index(tmp_path / "x")
    again = build(given, tmp_path / "x", SETTINGS, HashingEncoder(), **options)
    assert (again.replaced, again.resumed) == (200, 0)
    assert content(tmp_path / "x") == whole and not building_of(tmp_path / "x").exists()


BUILD = """
import sys
from pathlib import Path
from grasp_cli.defaults import INDEX
from grasp_cli.retrieval import writer
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.test_resume import SETTINGS, WINDOW, documents
writer.INDEX = type(INDEX)(window=WINDOW)
sys.stdout.write("ready\\n"); sys.stdout.flush()
built = writer.build(documents(), Path(sys.argv[1]), SETTINGS, HashingEncoder(), resume=True)
sys.stdout.write(built.manifest.content)
"""


def started(directory: Path) -> subprocess.Popen[str]:
    """A build, resumed where there is something to resume, that has just begun."""
    command = [sys.executable, "-c", BUILD, str(directory)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_killed_at_ten_random_points(tmp_path: Path) -> None:
    """SIGKILL, ten times at random; each build goes on until one is left alone to the end."""
    begun = time.monotonic()
    with started(tmp_path / "whole") as process:
        output = process.communicate(timeout=300)[0]
    took = time.monotonic() - begun
    wanted = Manifest.read(tmp_path / "whole").content
    assert output == wanted
    chance, kills = random.Random(20), 0
    for _ in range(10):
        with started(tmp_path / "x") as process:
            time.sleep(chance.uniform(0, took / 3))
            process.send_signal(signal.SIGKILL)
            kills += process.wait(60) == -signal.SIGKILL
    assert kills > 0
    with started(tmp_path / "x") as process:
        assert process.communicate(timeout=300)[0] == wanted
    assert content(tmp_path / "x") == content(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole", "x"]


KILL_AT = """
import os, signal, sys
from pathlib import Path
from grasp_cli.defaults import INDEX
from grasp_cli.retrieval import writer
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.test_resume import SETTINGS, WINDOW, documents
writer.INDEX = type(INDEX)(window=WINDOW)
left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "shutil.rmtree"):
        if str(arguments[0]).startswith(sys.argv[1]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
writer.build(documents(), Path(sys.argv[1]), SETTINGS, HashingEncoder(), resume=True)
"""


def test_killed_at_ten_points_chosen_from_all_that_touch_the_disk(tmp_path: Path) -> None:
    """Python's audit events tell each opening, renaming and removing: a kill just before one."""
    build(documents(), tmp_path / "whole", SETTINGS, HashingEncoder())
    wanted = content(tmp_path / "whole")
    chance, reached = random.Random(5), 0
    for number in range(10):
        place = tmp_path / f"x{number}"
        after = chance.randrange(0, 60)
        command = [sys.executable, "-c", KILL_AT, str(place), str(after)]
        done = subprocess.run(command, cwd=ROOT, timeout=300)
        assert done.returncode in (-signal.SIGKILL, 0), after
        reached += done.returncode == -signal.SIGKILL
        resume(place)
        assert content(place) == wanted, after
    assert reached >= 5
    leftovers = [path.name for path in tmp_path.iterdir() if path.suffix]
    assert leftovers == []


def test_progress_is_plain_json(tmp_path: Path) -> None:
    interrupt(tmp_path / "x", 100)
    progress = json.loads((building_of(tmp_path / "x") / "progress.json").read_text())
    assert set(progress) == {"job", "documents", "read", "passages", "bytes"}
    assert progress["bytes"]["vectors.bin"] == progress["passages"] * 16 * 4
