"""`grasp train evidence`: records in, a directory that `--classifier` takes out."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from grasp_cli.defaults import TEXT, TrainEvidenceDefaults
from grasp_cli.models.evidence_network import EvidenceNetwork
from grasp_cli.models.evidence_weights import BASE_WEIGHTS, CONFIG, WEIGHTS, is_evidence
from grasp_cli.models.locate import find, holds_model
from grasp_cli.models.placement import Placement
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.sources import read_records
from grasp_cli.training import evidence_checkpoint as checkpoint
from grasp_cli.training.evidence_card import CARD, card
from grasp_cli.training.evidence_examples import example, is_judged
from grasp_cli.training.evidence_finish import Finished, finish
from grasp_cli.training.evidence_training import Trainer, by_source

WORK = "training.part"  # below the model's directory until it is finished, then removed
MADE = "model"  # below WORK, until it is whole
LEAST = 4  # held-back questions that a calibration can be fitted on
_BARS = "▁▂▃▄▅▆▇█"


def train(
    files: Sequence[Path],
    directory: Path,
    settings: TrainEvidenceDefaults,
    placement: Placement,
    *,
    base: str,
    command: str,
    say: Callable[[str], None],
    threads: int | None = None,
) -> Finished:
    """Train on the records of `files` and write `directory`.

    An interrupted training goes on from its last checkpoint when called again with the same
    arguments. Raises `DataError` for records without gold, with gold that is not in their texts,
    or too few of them; `UsageError` where the directory holds anything but an interrupted training,
    or the base cannot be trained on.
    """
    _check_output(directory)
    base = _base(base)
    examples = [
        example(record, file.name, TEXT.splitter)
        for file in files
        for record in read_records([file])
    ]
    training, held_back = checkpoint.split(
        examples, settings.held_back, settings.held_back_most, settings.seed
    )
    if len(held_back) < LEAST or not training:
        raise DataError(
            f"{len(examples)} records with gold are too few to train and calibrate on: "
            f"{settings.held_back:.0%} of each file are held back, {LEAST} are needed"
        )
    work = directory / WORK
    work.mkdir(parents=True, exist_ok=True)
    torch_runtime(threads).manual_seed(settings.seed)
    network = EvidenceNetwork(find(base), device=placement.device, threads=threads)
    trainer = Trainer(network, training, held_back, settings, _teller(work, say))
    judged = [trainer.with_negatives(made, random.Random(0)) for made in held_back]
    if (known := sum(map(is_judged, judged))) < LEAST:
        raise DataError(
            f"of {known} of the {len(held_back)} records held back it is known which sentences are "
            f"gold and which are not, {LEAST} are needed: give gold with offsets, or answers that "
            "stand in the gold documents, and contexts that are not gold"
        )
    say(
        f"{len(training)} questions to train on, {len(held_back)} held back, "
        f"{trainer.steps} steps on {placement}"
    )
    if checkpoint.resume(trainer, work):
        say(f"going on from step {trainer.progress.step}")
    trainer.run(
        lambda state: checkpoint.save(state, work), lambda state: checkpoint.keep_best(state, work)
    )
    say(f"validation {curve(work)}")
    checkpoint.load_best(network, work)
    network.on("cpu")
    rng = random.Random(settings.seed)
    made_in = work / MADE
    made_in.mkdir(exist_ok=True)
    negatives = [trainer.with_negatives(made, rng) for made in training]
    done = finish(network, base, negatives, judged, made_in, settings, say)
    sizes = {source: len(made) for source, made in by_source(training).items()}
    text = card(done, sizes, len(held_back), base, command, asdict(settings), _today())
    (directory / CARD).write_text(text, encoding="utf-8")
    (work / checkpoint.LOG).replace(directory / checkpoint.LOG)
    for name in (WEIGHTS, CONFIG):  # the config last: with it the directory is a model
        (made_in / name).replace(directory / name)
    shutil.rmtree(work)
    return done


def _check_output(directory: Path) -> None:
    """Refuse what is not a new or empty directory, or that of a training to go on with."""
    if not directory.exists() or (directory / WORK).is_dir():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory} is a file: give a directory as -o")
    if any(directory.iterdir()):
        what = "already holds a model" if (directory / CONFIG).exists() else "is not empty"
        raise UsageError(f"{directory} {what}: give another -o, or remove it")


def _base(name: str) -> str:
    """The base as the model's config names it: a path from the root, or a known name."""
    path = find(name)
    if is_evidence(path):
        raise UsageError(f"--base {name} is an evidence model itself: give an encoder")
    if not (path / BASE_WEIGHTS).is_file():
        raise UsageError(f"--base {name} has no {BASE_WEIGHTS}: save the encoder in that format")
    return str(path) if holds_model(Path(name).expanduser()) else name


def _teller(work: Path, say: Callable[[str], None]) -> Callable[[dict[str, Any]], None]:
    def tell(entry: dict[str, Any]) -> None:
        checkpoint.log(entry, work)
        if "loss" in entry:
            left = entry["steps"] - entry["step"]
            minutes = left * entry["seconds_per_step"] / 60
            say(
                f"step {entry['step']}/{entry['steps']}, loss {entry['loss']:.3f}, "
                f"{entry['tokens_per_second']} tokens/s, {minutes:.0f} min left"
            )
        elif "auc" in entry:
            per_file = ", ".join(
                f"{source} {value['auc']:.3f}" for source, value in entry["held_back"].items()
            )
            place = f"step {entry['step']}/{entry['steps']}"
            say(f"{place}: held-back AUC {entry['auc']:.4f} ({per_file})")
        else:
            say(f"step {entry['step']}: stopped early, {entry['stopped']}")

    return tell


def curve(work: Path) -> str:
    """The validation AUC over the training, as one line."""
    path = work / checkpoint.LOG
    entries = map(orjson.loads, path.read_bytes().splitlines() if path.exists() else [])
    by_step = {entry["step"]: entry["auc"] for entry in entries if "auc" in entry}
    values = [by_step[step] for step in sorted(by_step)]
    if not values:
        return "-"
    low, high = min(values), max(values)
    scale = (len(_BARS) - 1) / max(high - low, 1e-9)
    bars = "".join(_BARS[round((value - low) * scale)] for value in values)
    return f"{bars} {values[0]:.3f} to {values[-1]:.3f}, best {high:.3f}"


def _today() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")
