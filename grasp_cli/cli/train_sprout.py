"""`grasp train sprout`: weights of trees."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Annotated

import typer

from grasp_cli.cli import train_options as given
from grasp_cli.cli.options import Dtype, Quiet, Threads, fair_threads
from grasp_cli.defaults import TRAIN_SPROUT as DEFAULTS
from grasp_cli.pipe.log import LOG


def sprout(
    files: given.Files,
    output: given.Output,
    epochs: given.Epochs = DEFAULTS.epochs,
    batch: Annotated[int, typer.Option(min=1, help="Questions of a step.")] = DEFAULTS.batch,
    only_heads: Annotated[
        bool,
        typer.Option("--only-heads", help="Freeze the encoder and learn alpha alone: minutes."),
    ] = DEFAULTS.only_heads,
    encoder_rate: given.EncoderRate = DEFAULTS.encoder_rate,
    alpha_rate: Annotated[
        float, typer.Option(min=0, help="Learning rate of alpha, one number per layer and head.")
    ] = DEFAULTS.head_rate,
    temperature: Annotated[
        float, typer.Option(min=1e-3, help="Of InfoNCE over a question's passages.")
    ] = DEFAULTS.temperature,
    support_weight: Annotated[
        float,
        typer.Option(min=0, help="Weight of -log M of chunks that support the answer together."),
    ] = DEFAULTS.support_weight,
    negatives: given.Negatives = DEFAULTS.negatives,
    held_back: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of each file that chooses the epoch.")
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
    """Train trees on records with gold evidence: what is near, and the encoder.

    SproutRAG's joint objective. Run it again after an interruption, and it goes on from its last
    checkpoint.

    grasp train sprout train.jsonl -o my-trees --only-heads --epochs 100 --alpha-rate 0.05

    grasp index --with-tree --tree-weights my-trees documents.jsonl
    """
    from grasp_cli.training.sprout import train as run

    given.check(files, base)
    placement = given.placed(device, dtype)
    settings = replace(
        DEFAULTS,
        epochs=epochs,
        batch=batch,
        only_heads=only_heads,
        encoder_rate=encoder_rate,
        head_rate=alpha_rate,
        temperature=temperature,
        support_weight=support_weight,
        negatives=negatives,
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
    before, after = (f"{held.support or 0:.3f}" for held in (done.before, done.after))
    LOG.say(f"{output}: {done.megabytes} MB, -log M of supporting pairs {before} -> {after}")
