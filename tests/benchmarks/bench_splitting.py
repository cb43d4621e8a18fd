"""Megabytes of English prose that `split_sentences` and `segment` take in a second."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grasp_cli.defaults import TEXT
from grasp_cli.text import segment, split_sentences

DOCUMENTS = Path(__file__).resolve().parents[2] / "sample_data" / "documents.jsonl"
FALLBACK = (
    "The observatory stands on the hill above the harbour. Dr. E. M. Hale built it in 1911, when "
    'the town had 4,200 inhabitants; "nobody believed in it," she wrote. Does it still work? Its '
    "first telescope, a 0.3 m refractor, does. The U.S. Navy paid for the second."
)
BYTES = 3_000_000
RUNS = 5
TARGET = 3.0


def benchmarks() -> list[dict[str, Any]]:
    """The default splitter against the promise, the others for comparison."""
    text = prose()
    entries = [
        entry(f"split_sentences, {TEXT.splitter} (default)", split_sentences, text, TARGET),
        entry(f"segment, {TEXT.splitter} (default)", segment, text, TARGET),
    ]
    part = text[: len(text) // 6]  # these are slow and promise nothing
    for splitter in ("punkt", "nupunkt"):

        def split(text: str, name: str = splitter) -> Any:
            return split_sentences(text, name)

        entries.append(entry(f"split_sentences, {splitter}", split, part, None))
    return entries


def prose() -> str:
    """English text of the samples without atomic blocks, repeated to three megabytes."""
    paragraphs = [FALLBACK]
    if DOCUMENTS.exists():
        rows = [json.loads(line) for line in DOCUMENTS.read_text(encoding="utf-8").splitlines()]
        paragraphs = [row["text"] for row in rows if is_prose(row["text"])] or paragraphs
    once = "\n\n".join(paragraphs) + "\n\n"
    return once * (BYTES // len(once.encode()) + 1)


def is_prose(text: str) -> bool:
    """Nothing but sentences, nearly all in ASCII: no table, no code, no other language."""
    in_ascii = sum(map(str.isascii, text)) > 0.99 * len(text)
    return in_ascii and all(found.kind == "sentence" for found in segment(text))


def entry(name: str, work: Callable[[str], Any], text: str, target: float | None) -> dict[str, Any]:
    """The median speed of some runs, as CPU time of this process."""
    megabytes = len(text.encode()) / 1e6
    speeds = []
    for _ in range(RUNS):
        started = time.process_time()
        work(text)
        speeds.append(megabytes / (time.process_time() - started))
    value = round(statistics.median(speeds), 2)
    holds = None if target is None else value >= target
    return {"name": name, "value": value, "unit": "MB/s", "target": target, "holds": holds}
