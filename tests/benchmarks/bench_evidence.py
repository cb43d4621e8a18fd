"""How well the trained evidence classifier finds gold, on questions that nothing was chosen on.

HotpotQA and 2WikiMultiHopQA (gold sentences): AUC and recall of the best fifth per question; at the
presets and along the threshold the share of questions with some and with all gold kept, recall of
gold and removed tokens. NQ and TriviaQA (retrieved passages): answers retained. Against the cosine,
and with each sentence its own unit instead of the evidence graph. Means with 95 % intervals.

GRASP_EVIDENCE_MODELS="name=directory …" measures other trained models beside the shipped one, and
GRASP_EVIDENCE_QUESTIONS=20 takes fewer questions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grasp_cli.compression.classifiers import CosineClassifier
from grasp_cli.compression.evidence_calibration import expected_calibration_error, logistic
from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.compression.methods import Encoders, Models, build, settled
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import COMPRESS, TEXT
from grasp_cli.evaluation.evidence import recall
from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.formats import load_format
from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.evidence_weights import encoder_of, is_evidence
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import MissingError
from grasp_cli.pipe.records import Record
from grasp_cli.text.answers import literal_tokens
from grasp_cli.text.tokens import TokenCounter
from grasp_cli.training.evidence_examples import example
from grasp_cli.training.metrics import auc, best_share

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
QUESTIONS = int(os.environ.get("GRASP_EVIDENCE_QUESTIONS", "100"))
GOLD = {"HotpotQA": "hotpotqa/dev.json", "2Wiki": "2wikimultihopqa/dev.json"}
ANSWERS = {"NQ": "natural_questions/dev_top3.jsonl", "TriviaQA": "triviaqa/dev_top3.jsonl"}
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
Entry = dict[str, Any]


class Way(NamedTuple):
    """A classifier and how it is used."""

    name: str
    models: Models
    options: Any
    points: dict[str, tuple[str, float | None]]  # name: preset, threshold


def benchmarks() -> Iterator[Entry]:
    """Nothing where data or models are not there."""
    try:
        find("grasp-evidence")
    except MissingError:
        return
    if not (SHARED / "hotpotqa").exists():
        return
    for dataset, path in GOLD.items():
        records = list(islice(load_format("hotpotqa").records(SHARED / path), QUESTIONS))
        for way in ways():
            yield from _gold(f"{dataset}, {way.name}", way, records)
    for dataset, path in ANSWERS.items():
        records = list(islice(load_format("dpr").records(SHARED / path), 4 * QUESTIONS))
        for way in ways():
            if not way.name.endswith("sentences"):
                yield from _answers(f"{dataset}, {way.name}", way, records)


def ways() -> Iterator[Way]:
    base = encoder_of("grasp-evidence")
    presets: dict[str, tuple[str, float | None]] = {
        name: (name, None) for name in ("recall", "balanced", "tight")
    }
    dtype = str(choose_dtype("auto", "cpu")).removeprefix("torch.")
    cosine = Models(base, base, base, dtype=dtype)
    yield Way("cosine", cosine, COMPRESS, {"balanced": ("balanced", None)})
    others = os.environ.get("GRASP_EVIDENCE_MODELS", "").split()
    for name, path in [("evidence", "grasp-evidence"), *(x.split("=") for x in others)]:
        models = Models(path, path, path, dtype=dtype)
        yield Way(name, models, COMPRESS, presets)
        if name == "evidence":
            yield Way(f"{name}, hops 2", models, replace(COMPRESS, hops=2), presets)
            coarse = replace(COMPRESS, coarse=not COMPRESS.coarse)
            yield Way(f"{name}, coarse {coarse.coarse}", models, coarse, presets)
            alone = replace(COMPRESS, method="exit")
            yield Way(f"{name}, single sentences", models, alone, presets)


class Run:
    """A way over records, all in one window, so that each passage is read once."""

    def __init__(self, way: Way, records: Sequence[Record]) -> None:
        self.way, self.records = way, list(records)
        self.encoders = Encoders(way.models)
        counter = encoder_of(way.models.classifier)
        self.counter = TokenCounter(find(counter), counter)

    def at(self, preset: str, threshold: float | None) -> list[Record]:
        """The compressed records at an operating point."""
        options = replace(self.way.options, window=len(self.records))
        options = settled(options, self.way.models, preset, threshold, None)
        method = build(options, self.way.models, self.encoders)
        setting = Setting("embedded", self.way.models.dtype, TEXT.splitter)
        stage = Compress(method, None, self.counter, options, setting)
        return list(stage.process(self.records))  # type: ignore[arg-type]

    def sentences(self) -> list[Any]:
        """A score of every sentence, per record."""
        tasks = [Task.of(record, TEXT.splitter) for record in self.records]
        units = [
            [Unit(p.number, (s,)) for p in task.passages for s in range(len(p.sentences))]
            for task in tasks
        ]
        name = self.way.models.classifier
        if is_evidence(find(name)):
            model = self.encoders.evidence(name)
            assert isinstance(model, EvidenceHead)
            return model.calibrated(tasks, units)
        return CosineClassifier(self.encoders.get(name)).score(tasks, units)


def _gold(label: str, way: Way, records: Sequence[Record]) -> Iterator[Entry]:
    run = Run(way, records)
    if "," not in way.name:
        examples = [example(record, "", TEXT.splitter) for record in records]
        labels = [np.concatenate(made.labels) == 1 for made in examples]
        scores = run.sentences()
        pairs = [(g, s) for g, s in zip(labels, scores, strict=True) if 0 < g.sum() < len(g)]
        target = {"HotpotQA, evidence": (0.95, 0.91)}.get(label, (None, None))
        yield _mean(f"{label}: AUC per question", [auc(g, s) for g, s in pairs], target[0])
        for share, least in ((0.2, target[1]), (0.3, None)):
            found = [best_share(g, s, share) for g, s in pairs]
            yield _mean(f"{label}: gold recall, best {share:.0%}", found, least)
        if is_evidence(find(way.models.classifier)):
            chances = logistic(np.concatenate(scores))
            error = expected_calibration_error(chances, np.concatenate(labels))
            yield _entry(f"{label}: calibration error before the shift", error, "")
    for name, (preset, threshold) in way.points.items():
        yield from _point(f"{label}, {name}", run.at(preset, threshold))
    if way.name in ("cosine", "evidence"):
        # the cosine reads the passages anew for each
        for threshold in THRESHOLDS if way.name == "evidence" else THRESHOLDS[2::3]:
            found = _measures(run.at("balanced", threshold))
            for name in ("gold recall", "some gold kept", "all gold kept", "removed"):
                value = 100 * float(np.mean(found[name]))
                yield _entry(f"{label}: {name} at {threshold}", value, "%")


def _point(label: str, compressed: Sequence[Record]) -> Iterator[Entry]:
    for name, values in _measures(compressed).items():
        yield _mean(f"{label}: {name}", [100 * value for value in values], unit="%")


def _measures(compressed: Sequence[Record]) -> dict[str, list[float]]:
    shares = []
    for record in compressed:
        found = recall(record, record["evidence_gold"])
        assert found is not None
        touched = sum(_touched(record, gold) for gold in record["evidence_gold"])
        shares.append((found.kept / found.total, touched / found.total))
    compression = [record["compression"] for record in compressed]
    return {
        "gold recall": [share for share, _ in shares],
        "some gold kept": [float(touched > 0) for _, touched in shares],
        "all gold kept": [float(touched == 1) for _, touched in shares],
        "removed": [entry["removed"] for entry in compression],
        "fallback": [float("fallback" in entry) for entry in compression],
    }


def _touched(record: Record, gold: Record) -> bool:
    """Whether at least half of a piece of gold was kept (sentence ends may be off by a space)."""
    found = recall(record, [gold])
    return found is not None and found.kept >= 0.5


def _answers(label: str, way: Way, records: Sequence[Record]) -> Iterator[Entry]:
    run = Run(way, records)
    there = [_holds(" ".join(c["text"] for c in record["contexts"]), record) for record in records]
    for name, (preset, threshold) in way.points.items():
        compressed = run.at(preset, threshold)
        kept = [
            float(_holds(record["context"], record))
            for record, present in zip(compressed, there, strict=True)
            if present
        ]
        removed = [record["compression"]["removed"] for record in compressed]
        target = 97.0 if way.name == "evidence" and name == "balanced" else None
        retained = [100 * value for value in kept]
        yield _mean(f"{label}, {name}: answer retained", retained, target, "%")
        yield _mean(f"{label}, {name}: removed", [100 * value for value in removed], unit="%")


def _holds(text: str, record: Record) -> bool:
    given = " ".join(("", *literal_tokens(text), ""))
    wanted = [" ".join(("", *literal_tokens(answer), "")) for answer in record["answers"]]
    return any(tokens in given for tokens in wanted if tokens.strip())


def _mean(name: str, values: Sequence[float], target: float | None = None, unit: str = "") -> Entry:
    low, high = mean_interval(values)
    entry = _entry(name, float(np.mean(values)), unit, target)
    return {**entry, "unit": f"{unit} [{low:.3g}, {high:.3g}]".strip()}


def _entry(name: str, value: float, unit: str, target: float | None = None) -> Entry:
    holds = None if target is None else value >= target
    return {"name": name, "value": round(value, 4), "unit": unit, "target": target, "holds": holds}
