"""Seconds per question of the whole pipe on the sample data, and of each stage, as recorded."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
QUESTIONS = 10
GRASP = f"{shlex.quote(sys.executable)} -m grasp_cli.cli.main"


def benchmarks() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as directory:
        index, questions = f"{directory}/index", Path(directory, "questions.jsonl")
        lines = (SAMPLE / "questions.jsonl").read_text().splitlines(keepends=True)
        questions.write_text("".join(lines[:QUESTIONS]))
        shell(f"{GRASP} index --quiet {shlex.quote(str(SAMPLE / 'documents.jsonl'))} -x {index}")
        started = time.perf_counter()
        out = shell(
            f"{GRASP} retrieve --quiet {questions} -x {index} | {GRASP} compress --quiet"
            f" | {GRASP} answer --quiet"
        )
        wall = time.perf_counter() - started
    records = [json.loads(line) for line in out.splitlines()]
    stages = {"retrieve": "retrieval", "compress": "compression", "answer": "reader"}
    shares = {
        verb: sum(record[key]["seconds"] for record in records) / len(records)
        for verb, key in stages.items()
    }
    entry = {"unit": "s/question", "target": None, "holds": None}
    return [
        {"name": f"pipe, {len(records)} questions, start-up included",
         "value": round(wall / len(records), 3), **entry},
        *(
            {"name": f"pipe, share of {verb}", "value": round(seconds, 3), **entry}
            for verb, seconds in shares.items()
        ),
    ]  # fmt: skip


def shell(command: str) -> str:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True, text=True
    )
    return done.stdout
