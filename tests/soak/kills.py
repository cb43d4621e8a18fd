"""Jobs killed with SIGKILL at random moments and resumed: nothing lost, nothing doubled.

A job is begun and killed, begun again with --resume and killed again, until it ends before its
time; then its output must be that of a job that was left alone. Moments are drawn evenly over the
length of such a job.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grasp_cli.retrieval.workplace import building_of
from tests.soak.launcher import Launcher, Ran
from tests.soak.server import CALM, WILD, serving

RETRIES = ("--retries", "2", "--max-wait", "0.05", "--concurrency", "4")
PATIENCE = 60  # runs in a row that end by themselves and are not yet whole


@dataclass
class Killed:
    """Figures of one command."""

    command: str
    kills: int = 0
    with_records: int = 0  # kills that left records behind
    whole: int = 0  # jobs that came to their end
    lost: int = 0
    doubled: int = 0
    different: int = 0
    codes: dict[int, int] = field(default_factory=dict)  # of runs that were not killed

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Case:
    """A command, its output, and how that is read: ids in order, and all that must be equal."""

    name: str
    argv: list[str]
    output: Path
    left: Path  # what an interrupted job leaves

    def read(self) -> tuple[list[str], Any]:
        if self.name == "index":
            files = {p.name: p.read_bytes() for p in sorted(self.output.rglob("*")) if p.is_file()}
            lines = files["passages.jsonl"].splitlines()
            return [json.loads(line)["id"] for line in lines], files
        records = [without_times(json.loads(line)) for line in self.output.open("rb")]
        return [record["id"] for record in records], records

    def forget(self) -> None:
        for path in self.output.parent.glob(f"*{self.output.name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what depends on the moment."""
    for key in ("compression", "reader"):
        if key in record:
            record[key] = {name: v for name, v in record[key].items() if name != "seconds"}
    return record


def kill(kills: int, place: Path, seed: int = 0, size: int = 600) -> list[Killed]:
    """`kills` of them, shared by index, compress and answer."""
    found = []
    with Launcher(place) as launcher:
        for number, name in enumerate(("index", "compress", "answer")):
            share = kills // 3 + (number < kills % 3)
            with case_of(name, place, size, launcher, seed) as (case, whole, took):
                draw = random.Random(f"{seed} {name}")
                found.append(_killed(case, whole, took, share, launcher, draw))
    return found


@contextmanager
def case_of(
    name: str, place: Path, size: int, launcher: Launcher, seed: int
) -> Iterator[tuple[Case, Any, float]]:
    """The case, what it gives when left alone, and how long that takes in seconds."""
    source = write_input(name, place / f"{name}.jsonl", size)
    output = place / f"{name}_out"
    argv = {
        "index": ["index", str(source), "-x", str(output), "--dtype", "float32"],
        "compress": ["compress", "--method", "lead", str(source), "-o", str(output)],
        "answer": ["answer", "--reader", "openai", "--reader-model", "m", str(source)],
    }[name]
    if name == "answer":
        argv += ["-o", str(output), *RETRIES]
    left = building_of(output) if name == "index" else place / f"{output.name}.part"
    case = Case(name, argv, output, left)
    with serving(CALM) as url:
        more = ["--url", url] if name == "answer" else []
        ran = launcher.run(*argv, *more)
        assert ran.code == 0, ran.stderr
    whole = case.read()
    case.forget()
    with serving(WILD, seed) as url:
        case.argv += ["--url", url] if name == "answer" else []
        yield case, whole, ran.seconds


def write_input(name: str, path: Path, size: int) -> Path:
    size = size // 4 if name == "answer" else size
    with path.open("w") as stream:
        for number in range(size):
            text = (
                f"It began in {number}. It ended a year later. Nobody knows why, but Ada {number}."
            )
            record: dict[str, Any] = {"id": f"r{number}", "title": f"T{number}", "text": text}
            if name != "index":
                contexts = [{"id": f"c{rank}", "text": f"{rank}. {text}"} for rank in range(3)]
                record = {"id": f"r{number}", "question": "When?", "contexts": contexts}
            stream.write(json.dumps(record) + "\n")
    return path


def _killed(
    case: Case, whole: Any, took: float, kills: int, launcher: Launcher, draw: random.Random
) -> Killed:
    found = Killed(case.name)
    codes: Counter[int] = Counter()
    while found.kills < kills or not found.whole:
        patience = PATIENCE
        while True:
            ran = _one(case, launcher, draw.uniform(0, took) if found.kills < kills else None)
            if ran.code == -9:
                found.kills += 1
                found.with_records += case.left.exists()
                continue
            codes[ran.code] += 1
            assert ran.code in (0, 3, 7), f"exit {ran.code}: {ran.stderr}"
            patience -= 1
            assert patience, f"it never comes to an end: {ran.stderr}"
            if ran.code == 0:
                break
        found.whole += 1
        _compare(case, whole, found)
        case.forget()
    found.codes = dict(codes)
    return found


def _one(case: Case, launcher: Launcher, moment: float | None) -> Ran:
    launcher.begin(*case.argv, "--resume")
    return launcher.end(kill_after=moment)


def _compare(case: Case, whole: Any, found: Killed) -> None:
    ids, everything = case.read()
    wanted = Counter(whole[0])
    there = Counter(ids)
    found.lost += sum((wanted - there).values())
    found.doubled += sum((there - wanted).values())
    found.different += everything != whole[1]
