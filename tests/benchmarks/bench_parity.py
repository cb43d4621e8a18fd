"""Method `exit` on shared prefixes gives the scores of plain runs, with the real Gemma 3 270M.

Sentences of the first twenty questions of HotpotQA are scored by the classifier, all sentences of
a passage together, and again one prompt at a time without any cache. Unrounded probabilities are
compared, and the decisions at 0.5.

One by one, all sentences take two cores about twenty minutes: every tenth sentence is compared;
GRASP_PARITY_EVERY=1 takes all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from grasp_cli.compression.causal_classifier import TOLERANCE, CausalClassifier
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import MissingError
from tests.benchmarks import bench_shared_prefix as shared
from tests.benchmarks.bench_shared_prefix import Entry

EVERY = int(os.environ.get("GRASP_PARITY_EVERY", "10"))
THRESHOLD = 0.5


def benchmarks() -> list[Entry]:
    """Nothing where the data or the model is not there."""
    try:
        directory = find("gemma-3-270m")
    except MissingError:
        return []
    if not shared.HOTPOTQA.exists():
        return []
    return [entry for dtype in ("float32", "bfloat16") for entry in _compared(directory, dtype)]


def _compared(directory: Path, dtype: str) -> Iterator[Entry]:
    model = CausalModel(directory, Running(device="cpu", dtype=dtype, quiet=True))
    classifier = CausalClassifier(model)
    tasks, units, chosen = _chosen()
    with shared.watched(classifier) as seen:
        classifier.score(tasks, units)
    prompts = [seen.prompts[place] for place in chosen]
    together = [seen.scores[place] for place in chosen]
    answers = [model.token(word) for word in ("Yes", "No")]
    apart = shared.last_logits(model.network, prompts, answers)

    band = TOLERANCE[dtype]
    pairs = list(zip(together, apart, strict=True))
    near = [abs(one - THRESHOLD) <= band for one in apart]
    other = [(one >= THRESHOLD) != (two >= THRESHOLD) for one, two in pairs]
    outside = sum(differs for differs, close in zip(other, near, strict=True) if not close)
    largest = max(abs(one - two) for one, two in pairs)
    label = f"exit against one by one, {dtype}"
    yield shared.entry(f"{label}: sentences", len(pairs), "")
    yield shared.entry(f"{label}: largest difference", largest, "", band, least=False)
    yield shared.entry(f"{label}: other decisions outside band", outside, "", 0, least=False)
    yield shared.entry(f"{label}: other decisions within band", sum(other) - outside, "")
    share = 100 * sum(near) / len(near)
    yield shared.entry(f"{label}: scores within {band:g} of {THRESHOLD}", share, "%")


def _chosen() -> tuple[list[Task], list[list[Unit]], list[int]]:
    """Tasks, the units of those passages that a sentence is taken from, and which those are."""
    work = shared.passages(every=1)
    flat = [(number, unit) for number, units in enumerate(work.units) for unit in units]
    taken = flat[::EVERY]
    passages = {(number, unit.passage) for number, unit in taken}
    scored = [(number, unit) for number, unit in flat if (number, unit.passage) in passages]
    units = [[unit for n, unit in scored if n == number] for number in range(len(work.tasks))]
    wanted = set(taken)
    return work.tasks, units, [place for place, pair in enumerate(scored) if pair in wanted]
