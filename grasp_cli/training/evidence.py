"""`grasp train evidence`: records in, a directory that `--classifier` takes out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grasp_cli.defaults import TrainEvidenceDefaults
from grasp_cli.models.evidence_network import EvidenceNetwork
from grasp_cli.models.evidence_weights import CONFIG, WEIGHTS
from grasp_cli.models.locate import find
from grasp_cli.models.placement import Placement
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import DataError
from grasp_cli.training import checkpoint
from grasp_cli.training.directory import (
    WORK,
    base_of,
    check_output,
    curve,
    put_in_place,
    teller,
    today,
)
from grasp_cli.training.evidence_card import card
from grasp_cli.training.evidence_examples import by_source, is_judged
from grasp_cli.training.evidence_finish import Finished, finish
from grasp_cli.training.evidence_training import Trainer
from grasp_cli.training.split import read_examples

MADE = "model"  # below WORK, until it is whole
LEAST = 4  # held-back questions that a calibration can be fitted on


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
    check_output(directory)
    base = base_of(base)
    training, held_back = read_examples(files, settings)
    if len(held_back) < LEAST or not training:
        raise DataError(
            f"{len(training) + len(held_back)} records with gold are too few to train and "
            "calibrate on: "
            f"{settings.held_back:.0%} of each file are held back, {LEAST} are needed"
        )
    work = directory / WORK
    work.mkdir(parents=True, exist_ok=True)
    torch_runtime(threads).manual_seed(settings.seed)
    network = EvidenceNetwork(find(base), device=placement.device, threads=threads)
    trainer = Trainer(network, training, held_back, settings, teller(work, say, _evaluation))
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
    checkpoint.run(trainer, work, say)
    say(f"validation {curve(work, 'auc')}")
    network.on("cpu")
    rng = random.Random(settings.seed)
    made_in = work / MADE
    made_in.mkdir(exist_ok=True)
    negatives = [trainer.with_negatives(made, rng) for made in training]
    done = finish(network, base, negatives, judged, made_in, settings, say)
    sizes = {source: len(made) for source, made in by_source(training).items()}
    text = card(done, sizes, len(held_back), base, command, asdict(settings), today())
    put_in_place(directory, made_in, (WEIGHTS, CONFIG), text)  # with the config it is a model
    return done


def _evaluation(entry: dict[str, Any]) -> str:
    per_file = ", ".join(
        f"{source} {value['auc']:.3f}" for source, value in entry["held_back"].items()
    )
    return f"held-back AUC {entry['auc']:.4f} ({per_file})"
