"""What the trained evidence classifier costs beside the bare encoder's pass over the same passages.

HotpotQA questions with ten passages each; medians of alternating runs in one process. `pass` reads
the passages with their questions, `stage` is the whole of `grasp compress` without loading.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.compression.methods import Encoders, Models, build, settled
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Task
from grasp_cli.defaults import COMPRESS, TEXT
from grasp_cli.formats import load_format
from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.evidence_weights import encoder_of
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import MissingError
from grasp_cli.text.tokens import TokenCounter

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
QUESTIONS, ROUNDS = 32, 5
MODEL = "grasp-evidence"
Entry = dict[str, Any]


def benchmarks() -> Iterator[Entry]:
    """Nothing where data or models are not there."""
    try:
        find(MODEL)
    except MissingError:
        return
    if not (SHARED / "hotpotqa").exists():
        return
    source = load_format("hotpotqa").records(SHARED / "hotpotqa" / "dev.json")
    records = list(islice(source, QUESTIONS))
    usual = str(choose_dtype("auto", "cpu")).removeprefix("torch.")
    for dtype in dict.fromkeys(("float32", usual)):
        yield from _measured(dtype, records)


def _measured(dtype: str, records: list[Any]) -> Iterator[Entry]:
    models = Models(MODEL, MODEL, MODEL, dtype=dtype)
    encoders = Encoders(models)
    head = encoders.evidence(MODEL)
    assert isinstance(head, EvidenceHead)
    base = encoder_of(MODEL)
    encoder = Encoder(find(base), dtype=dtype)
    tasks = [Task.of(record, TEXT.splitter) for record in records]
    texts = [f"{p.title}: {p.text}" for task in tasks for p in task.passages]
    windows = [
        found.ids[: encoder.room]
        for found in encoder.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]
    options = settled(COMPRESS, models, COMPRESS.preset, None, None)
    stage = Compress(
        build(options, models, encoders),
        None,
        TokenCounter(find(base), base),
        options,
        Setting("embedded", dtype, TEXT.splitter),
    )

    def bare() -> None:
        for _ in encoder.states(windows):
            pass

    def one_pass() -> None:
        head.forget()
        head.vectors(tasks, [[[] for _ in task.passages] for task in tasks])

    def whole() -> None:
        head.forget()
        list(stage.process(records))

    spent = _alternating({"bare": bare, "pass": one_pass, "stage": whole})
    label = f"evidence, {dtype}"
    yield _entry(f"{label}: bare encoder, per question", spent["bare"] / len(records), "s")
    yield _entry(f"{label}: classifier's pass, per question", spent["pass"] / len(records), "s")
    yield _entry(f"{label}: compress, per question", spent["stage"] / len(records), "s")
    yield _entry(f"{label}: pass / bare encoder", spent["pass"] / spent["bare"], "x", 1.3)
    yield _entry(f"{label}: compress / bare encoder", spent["stage"] / spent["bare"], "x", 2.0)
    around = 100 * (1 - spent["pass"] / spent["stage"])
    yield _entry(f"{label}: compress outside the pass", around, "%")


def _alternating(ways: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median seconds of each way, after one round to warm up."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, run in ways.items():
            started = time.perf_counter()
            run()
            if turn:
                spent[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in spent.items()}


def _entry(name: str, value: float, unit: str, target: float | None = None) -> Entry:
    holds = None if target is None else value <= target
    return {
        "name": name,
        "value": float(f"{value:.4g}"),
        "unit": unit,
        "target": target,
        "holds": holds,
    }
