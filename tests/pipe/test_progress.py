from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grasp_cli import defaults
from grasp_cli.pipe.log import LOG
from grasp_cli.pipe.progress import Progress, duration, size_of, watching


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(defaults, "PROGRESS", replace(defaults.PROGRESS, seconds=0.02))
    yield
    LOG.start("")


def read(progress: Progress, sizes: list[int], skipped: int = 0) -> Iterator[int]:
    """What a reader does: bytes are told for every line, some of which it leaves out."""
    for number, size in enumerate(sizes):
        progress.took(size)
        if number >= skipped:
            yield number


@pytest.mark.parametrize("skipped", [0, 600], ids=["from the start", "resumed"])
def test_the_total_is_foretold_by_the_size_of_the_rest(skipped: int) -> None:
    draw = random.Random(5)
    sizes = [draw.randint(50, 150) for _ in range(1000)]
    progress = Progress(sum(sizes))
    for count, _ in enumerate(progress.reading(read(progress, sizes, skipped)), start=1):
        if count >= 50:
            assert progress.total == pytest.approx(1000 - skipped, rel=0.15)
    assert progress.total == 1000 - skipped
    assert progress.told().startswith("0 done of 400" if skipped else "0 done of 1000")


def test_no_total_where_the_size_is_unknown() -> None:
    progress = Progress(None)
    for _ in progress.reading(read(progress, [9, 9, 9])):
        assert progress.total is None and progress.seconds_left is None
    assert progress.total == 3


def test_rate_and_time_left_leave_the_loading_of_models_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("grasp_cli.pipe.progress.time.monotonic", lambda: now[0])
    progress = Progress(1000)
    list(progress.reading(read(progress, [10] * 100)))
    now[0] = 60.0  # the first batch waited a minute for its model
    progress.advance(10)
    now[0] = 65.0
    progress.advance(20)
    assert progress.rate == 4.0 and progress.seconds_left == 17.5
    assert progress.told() == "30 done of 100, 4.0/s, 18 s left"
    assert progress.facts() == {
        "event": "progress",
        "done": 30,
        "total": 100,
        "per_second": 4.0,
        "seconds_left": 17.5,
    }


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59.4, "59 s"), (61, "1 min 01 s"), (7320, "2 h 02 min")]
)
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_sizes_of_inputs(tmp_path: Path) -> None:
    plain, packed, pipe = tmp_path / "a", tmp_path / "b.gz", tmp_path / "pipe"
    plain.write_bytes(b"x" * 70)
    packed.write_bytes(gzip.compress(b"x" * 70))
    os.mkfifo(pipe)
    assert size_of([plain, plain]) == 140
    assert size_of([plain, packed]) is None
    assert size_of([pipe]) is None  # nor does it wait for a writer
    assert size_of([tmp_path / "none"]) is None and size_of([]) is None


@pytest.mark.parametrize("as_json", [False, True])
def test_plain_lines_now_and_then(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    LOG.start("compress", as_json=as_json)
    said, end = "", time.monotonic() + 60
    with watching() as progress:
        progress.advance(3)
        while said.count("\n") < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
            said += capsys.readouterr().err
    first = said.splitlines()[0]
    if as_json:
        told = json.loads(first)
        assert (told["event"], told["done"], told["stage"]) == ("progress", 3, "compress")
    else:
        assert first.startswith("grasp compress: 3 done, ")


@pytest.mark.parametrize("asked", [{"quiet": True}, {"progress": False}])
def test_nothing_where_nothing_is_wanted(
    capsys: pytest.CaptureFixture[str], asked: dict[str, bool]
) -> None:
    LOG.start("compress", **asked)  # type: ignore[arg-type]
    with watching() as progress:
        progress.advance(3)
        time.sleep(0.06)
    assert capsys.readouterr().err == ""
