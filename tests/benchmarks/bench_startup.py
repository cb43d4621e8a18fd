"""How long `grasp --help` takes, as a whole process, beside Python's own start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

TARGET_SECONDS = 0.5


def benchmarks() -> list[dict[str, Any]]:
    helped = _median([sys.executable, "-m", "grasp_cli.cli.main", "--help"])
    bare = _median([sys.executable, "-c", "pass"])
    return [
        {
            "name": "grasp --help",
            "value": round(helped, 3),
            "unit": "s",
            "target": TARGET_SECONDS,
            "holds": helped < TARGET_SECONDS,
        },
        {
            "name": "python -c pass, for comparison",
            "value": round(bare, 3),
            "unit": "s",
            "target": None,
            "holds": None,
        },
    ]


def _median(command: list[str]) -> float:
    seconds = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
