"""`grasp train`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Annotated

import typer

from grasp_cli.cli import train_options as given
from grasp_cli.cli.options import Dtype, Quiet, Threads, fair_threads
from grasp_cli.cli.train_sprout import sprout
from grasp_cli.defaults import TRAIN_EVIDENCE as DEFAULTS
from grasp_cli.pipe.log import LOG

train = typer.Typer(
    name="train", no_args_is_help=True, help="Train the models of grasp on your own data."
)


@train.callback()
def _train() -> None:
    pass


@train.command()
def evidence(
    files: given.Files,
    output: given.Output,
    epochs: given.Epochs = DEFAULTS.epochs,
    batch_tokens: Annotated[
        int, typer.Option(min=64, help="Tokens of a step.")
    ] = DEFAULTS.batch_tokens,
    encoder_rate: given.EncoderRate = DEFAULTS.encoder_rate,
    head_rate: Annotated[
        float, typer.Option(min=0, help="Learning rate of the head.")
    ] = DEFAULTS.head_rate,
    positive_weight: Annotated[
        float, typer.Option(min=0, help="Weight of gold sentences in the loss.")
    ] = DEFAULTS.positive_weight,
    negatives: given.Negatives = DEFAULTS.negatives,
    records_per_epoch: Annotated[
        int, typer.Option(min=0, help="Most records of a file in an epoch, drawn anew; 0: all.")
    ] = DEFAULTS.records_per_epoch,
    held_back: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, help="Share of each file for validation and calibration."),
    ] = DEFAULTS.held_back,
    patience: given.Patience = DEFAULTS.patience,
    rank: given.Rank = DEFAULTS.rank,
    base: given.Base = DEFAULTS.base,
    seed: given.Seed = DEFAULTS.seed,
    dtype: given.TrainDtype = Dtype.auto,
    device: given.Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train the evidence classifier on records with gold evidence.

    Run it again after an interruption, and it goes on from its last checkpoint.

    grasp convert hotpotqa train.json -o train.jsonl

    grasp train evidence train.jsonl -o my-evidence

    grasp compress --classifier my-evidence --embedder my-evidence < retrieved.jsonl
    """
    from grasp_cli.training.evidence import train as run

    given.check(files, base)
    placement = given.placed(device, dtype)
    settings = replace(
        DEFAULTS,
        epochs=epochs,
        batch_tokens=batch_tokens,
        encoder_rate=encoder_rate,
        head_rate=head_rate,
        positive_weight=positive_weight,
        negatives=negatives,
        records_per_epoch=records_per_epoch,
        held_back=held_back,
        patience=patience,
        rank=rank,
        base=base,
        seed=seed,
        dtype=placement.dtype,
    )

    done = run(
        files,
        output,
        settings,
        placement,
        base=base,
        command=shlex.join(["grasp", *sys.argv[1:]]),
        say=LOG.say,
        threads=fair_threads(threads),
    )
    LOG.say(f"{output}: {done.megabytes} MB, held-back AUC {done.calibrated.auc}")


train.command()(sprout)
