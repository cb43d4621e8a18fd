"""Seconds and memory of `grasp evaluate` on 100,000 records, a whole process on one core.

Intervals are not included.

Records are like those of HotpotQA after `grasp compress | grasp answer`: ten contexts of four
sentences, two gold ones, about a quarter of the sentences kept.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDS = 100_000
DISTINCT = 500  # texts are used again under other ids and answers, long after any cache lost them
TARGET_SECONDS = 60
TARGET_MEBIBYTES = 1024
GRASP = [sys.executable, "-m", "grasp_cli.cli.main"]
_WORDS = "the of a Leith bridge was in born 1911 Ann river U.S. city film second team and to won"


def benchmarks(count: int = RECORDS) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "answered.jsonl")
        with file.open("w") as out:
            for record in records(count):
                out.write(json.dumps(record) + "\n")
        seconds, mebibytes = measured([*GRASP, "evaluate", "--quiet", "--no-intervals", str(file)])
    name = f"grasp evaluate, {count:,} records"
    return [
        {
            "name": f"{name}, one core",
            "value": round(seconds, 1),
            "unit": "s",
            "target": TARGET_SECONDS,
            "holds": seconds < TARGET_SECONDS,
        },
        {
            "name": f"{name}, memory",
            "value": round(mebibytes),
            "unit": "MiB",
            "target": TARGET_MEBIBYTES,
            "holds": mebibytes < TARGET_MEBIBYTES,
        },
    ]


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of a command on one core (of all processes so far, the largest)."""
    core = min(os.sched_getaffinity(0))
    started = time.perf_counter()
    subprocess.run(
        command, check=True, capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def records(count: int) -> Iterator[dict[str, Any]]:
    """Seeded records."""
    chance = random.Random(5)
    made = [_record(chance) for _ in range(min(count, DISTINCT))]
    for number in range(count):
        record = made[number % len(made)]
        answer = f"{record['answer']} {number % 9973}"
        yield {**record, "id": f"q{number}", "answer": answer}


def _record(chance: random.Random) -> dict[str, Any]:
    words = _WORDS.split()
    contexts, evidence, gold = [], [], []
    for number in range(10):
        sentences = [" ".join(chance.choices(words, k=24)).capitalize() + "." for _ in range(4)]
        text = " ".join(sentences)
        contexts.append({"id": f"d{number}", "title": f"Title {number}", "text": text})
        start = 0
        for position, sentence in enumerate(sentences):
            end = start + len(sentence)
            if chance.random() < 0.25:
                run = {"context": f"d{number}", "start": start, "end": end, "text": sentence}
                evidence.append({**run, "score": 0.9, "unit": 0, "sentence": position})
            if chance.random() < 0.05:
                gold.append({"id": f"d{number}", "start": start, "end": end, "text": sentence})
            start = end + 1
    return {
        "question": " ".join(chance.choices(words, k=12)) + "?",
        "answers": [" ".join(chance.choices(words, k=2)), "Cy Fox"],
        "contexts": contexts,
        "evidence_gold": gold,
        "context": "\n\n".join(entry["text"] for entry in evidence),
        "evidence": evidence,
        "compression": {
            "tokens_in": 1200,
            "tokens_out": 300,
            "chars_in": 5400,
            "chars_out": 1400,
            "seconds": chance.random(),
        },
        "answer": " ".join(chance.choices(words, k=3)),
        "reader": {"prompt_tokens": 400, "completion_tokens": 5, "seconds": chance.random()},
    }
