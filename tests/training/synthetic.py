"""Records whose gold sentence has the question's word, and a small training on them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from grasp_cli.defaults import TRAIN_EVIDENCE, TrainEvidenceDefaults
from grasp_cli.models.placement import Placement
from grasp_cli.training.evidence import train
from grasp_cli.training.evidence_finish import Finished
from tests.compression import tiny

ASKED, OTHER = "BCDFGH", "klmnpr"  # letters of words that are asked for, and of others
POSITIONS = 100  # of the base: no multiple of eight, and soon full
RECORDS = 80
CPU = Placement("cpu", "float32", "tests")
# Rates for a random model of two layers; those of the command are for a trained encoder.
SETTINGS: TrainEvidenceDefaults = replace(
    TRAIN_EVIDENCE,
    epochs=3,
    batch_tokens=1500,
    encoder_rate=3e-3,
    head_rate=3e-3,
    held_back=0.2,
    evaluations=1,
    patience=0,
    negatives=0,
    rank=8,
    dtype="float32",
)


class Trained(NamedTuple):
    """A finished training, and what it was made of."""

    directory: Path
    base: Path
    file: Path
    said: list[str]
    done: Finished


def record(number: int, rng: random.Random) -> dict[str, Any]:
    """Two passages of three sentences; one sentence has the word that the question asks for."""
    wanted, gold = rng.choice(ASKED) * 4, rng.randrange(6)
    words = [wanted if place == gold else rng.choice(OTHER) * 4 for place in range(6)]
    sentences = [f"It is {word} there." for word in words]
    start = 18 * (gold % 3)
    end = start + len(sentences[gold])
    return {
        "id": f"q{number}",
        "question": f"Is it {wanted}?",
        "contexts": [
            {"id": f"{number}-{n}", "title": f"T{n}", "text": " ".join(sentences[3 * n :][:3])}
            for n in range(2)
        ],
        "evidence_gold": [
            {"id": f"{number}-{gold // 3}", "start": start, "end": end, "text": sentences[gold]}
        ],
    }


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [record(number, rng) for number in range(count)]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def trained(
    file: Path,
    directory: Path,
    base: Path,
    say: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Finished:
    """Train on one thread with `SETTINGS`, some of them changed."""
    settings = replace(SETTINGS, **options)
    return train([file], directory, settings, CPU, base=str(base), command="c", say=say, threads=1)


def small(root: Path) -> Trained:
    """A base of two layers, records, and a model trained on them."""
    base = tiny.bert(root / "bert", positions=POSITIONS)
    file = written(root / "records.jsonl", records(RECORDS))
    said: list[str] = []
    done = trained(file, root / "model", base, said.append)
    return Trained(root / "model", base, file, said, done)
