"""`grasp train`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.options import Dtype, Quiet, Threads, fair_threads
from grasp_cli.defaults import TRAIN_EVIDENCE as DEFAULTS
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.log import LOG

train = typer.Typer(
    name="train", no_args_is_help=True, help="Train the models of grasp on your own data."
)


@train.callback()
def _train() -> None:
    pass


@train.command()
def evidence(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Records with evidence_gold, as grasp convert writes them.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", show_default=False, help="The model."),
    ],
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = DEFAULTS.epochs,
    batch_tokens: Annotated[
        int, typer.Option(min=64, help="Tokens of a step.")
    ] = DEFAULTS.batch_tokens,
    encoder_rate: Annotated[
        float, typer.Option(min=0, help="Learning rate of the encoder.")
    ] = DEFAULTS.encoder_rate,
    head_rate: Annotated[
        float, typer.Option(min=0, help="Learning rate of the head.")
    ] = DEFAULTS.head_rate,
    positive_weight: Annotated[
        float, typer.Option(min=0, help="Weight of gold sentences in the loss.")
    ] = DEFAULTS.positive_weight,
    negatives: Annotated[
        int,
        typer.Option(
            min=0, help="Passages of other records, by BM25, for a record with fewer of its own."
        ),
    ] = DEFAULTS.negatives,
    records_per_epoch: Annotated[
        int, typer.Option(min=0, help="Most records of a file in an epoch, drawn anew; 0: all.")
    ] = DEFAULTS.records_per_epoch,
    held_back: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, help="Share of each file for validation and calibration."),
    ] = DEFAULTS.held_back,
    patience: Annotated[
        int, typer.Option(min=0, help="Evaluations without a better one before it stops; 0: never.")
    ] = DEFAULTS.patience,
    rank: Annotated[
        int, typer.Option(min=0, help="Rank of the stored differences; 0 stores them whole.")
    ] = DEFAULTS.rank,
    base: Annotated[
        str, typer.Option(help="The encoder to start from: name or path.")
    ] = DEFAULTS.base,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = DEFAULTS.seed,
    dtype: Annotated[
        Dtype, typer.Option(help="Number format of the passes; weights are float32.")
    ] = Dtype.auto,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train the evidence classifier on records with gold evidence.

    Run it again after an interruption, and it goes on from its last checkpoint.

    grasp convert hotpotqa train.json -o train.jsonl

    grasp train evidence train.jsonl -o my-evidence

    grasp compress --classifier my-evidence --embedder my-evidence < retrieved.jsonl
    """
    from grasp_cli.models.locate import find_all
    from grasp_cli.models.placement import place
    from grasp_cli.training.evidence import train as run

    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise UsageError(f"there is no file {missing[0]}")
    if len({file.name for file in files}) < len(files):
        raise UsageError("two of the files have the same name: give them different names")
    find_all([base])
    placement = place(device, dtype.value)
    if placement.dtype == "float16":  # small gradients would become 0 without a scaled loss
        placement = place(device, "float32")
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
