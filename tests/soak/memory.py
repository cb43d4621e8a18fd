"""Largest resident size of a job over files of different length: it does not grow with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.soak.launcher import Launcher


@dataclass
class Size:
    """Of one run."""

    command: str
    records: int
    megabytes: float
    seconds: float


def sizes(counts: tuple[int, ...], place: Path) -> list[Size]:
    """`compress --method lead` and then `evaluate`, for each number of records.

    Without intervals, whose bootstrap draws ten thousand times as many questions.
    """
    found = []
    with Launcher(place) as launcher:
        for count in counts:
            source, output = place / "in.jsonl", place / "out.jsonl"
            write_records(source, count)
            for argv in (
                ["compress", "--method", "lead", source, "-o", output],
                ["evaluate", output, "--format", "json", "--no-intervals"],
            ):
                ran = launcher.run(*argv, stdout=str(place / "table.json"))
                assert ran.code == 0, ran.stderr
                megabytes = round(ran.kilobytes / 1024, 1)
                found.append(Size(str(argv[0]), count, megabytes, round(ran.seconds, 1)))
            assert json.loads((place / "table.json").read_text())[0]["n"] == count
            for path in place.glob("out.jsonl*"):
                path.unlink()
            source.unlink()
    return found


def write_records(path: Path, count: int) -> None:
    with path.open("w") as stream:
        for number in range(count):
            stream.write(
                f'{{"id":"r{number}","question":"When did {number} begin?","answers":["1911"],'
                f'"contexts":[{{"id":"a","text":"It began in 1911. It ended in {number}."}},'
                f'{{"id":"b","text":"Snow fell. Ice stayed."}}],"answer":"in 1911"}}\n'
            )


def growth(found: list[Size]) -> dict[str, float]:
    """Megabytes more for the largest file than for the smallest, by command."""
    by_command: dict[str, list[Size]] = {}
    for one in found:
        by_command.setdefault(one.command, []).append(one)
    found_growth = {}
    for name, ones in by_command.items():
        ones.sort(key=lambda one: one.records)
        found_growth[name] = round(ones[-1].megabytes - ones[0].megabytes, 1)
    return found_growth
