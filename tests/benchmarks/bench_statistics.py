"""Bootstrap and tests of 10,000 questions with 10,000 resamples, and the start of `grasp evaluate`.

Seconds are those of one core's work (processor time): what the machine does beside it does not
count, and on an idle core they are the seconds that pass.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUESTIONS = RESAMPLES = 10_000
METRICS = 8
TARGET_SECONDS = 5.0
TARGET_START = 0.6
_HELP = [sys.executable, "-m", "grasp_cli.cli.main", "evaluate", "--help"]
_GRASP = [sys.executable, "-m", "grasp_cli.cli.main"]


def benchmarks() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.benchmarks.bench_statistics"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, preexec_fn=_one_core)
    return [*json.loads(output.stdout), *_starts()]


def _starts() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "answered.jsonl")
        record = {"question": "Who?", "answers": ["Ann Lee"], "answer": "Ann"}
        file.write_text("".join(json.dumps({"id": str(n), **record}) + "\n" for n in range(100)))
        return [
            _entry("grasp evaluate --help", _fastest(_HELP), TARGET_START),
            _entry(
                "grasp evaluate of 100 records, no intervals",
                _fastest([*_GRASP, "evaluate", "--no-intervals", "--quiet", str(file)]),
                TARGET_START,
            ),
            _entry(
                "grasp evaluate of 100 records, with intervals",
                _fastest([*_GRASP, "evaluate", "--quiet", str(file)]),
                TARGET_START,
            ),
        ]


def _measured() -> list[dict[str, Any]]:
    """In this process, which has one core."""
    import numpy as np

    from grasp_cli.evaluation.significance import permutation_tests
    from grasp_cli.evaluation.statistics import mean_interval, mean_intervals

    values = np.random.default_rng(0).beta(0.5, 0.7, (QUESTIONS, METRICS)).round(4)
    differences = values - values[::-1]
    size = f"{QUESTIONS:,} questions x {RESAMPLES:,}"
    runs: list[tuple[str, Callable[[], object]]] = [
        (f"bootstrap, {size}", lambda: mean_interval(values[:, 0], resamples=RESAMPLES)),
        (
            f"bootstrap, {size}, {METRICS} metrics",
            lambda: mean_intervals(values, resamples=RESAMPLES),
        ),
        (
            f"permutation tests, {size}, {METRICS} metrics",
            lambda: permutation_tests(differences, permutations=RESAMPLES),
        ),
    ]
    return [_entry(name, _seconds(run), TARGET_SECONDS) for name, run in runs]


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def _fastest(command: list[str]) -> float:
    """The least processor time of five runs."""
    return min(_of_children(command) for _ in range(5))


def _of_children(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _entry(name: str, seconds: float, target: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(seconds, 3),
        "unit": "s",
        "target": target,
        "holds": None if target is None else seconds < target,
    }


if __name__ == "__main__":
    json.dump(_measured(), sys.stdout)
