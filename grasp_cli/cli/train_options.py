"""Options that all trainings have, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grasp_cli.cli.options import Dtype
from grasp_cli.pipe.errors import UsageError

if TYPE_CHECKING:
    from grasp_cli.models.placement import Placement

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…",
        help="Records with evidence_gold, as grasp convert writes them.",
        show_default=False,
    ),
]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", show_default=False, help="The model."),
]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the data.")]
EncoderRate = Annotated[float, typer.Option(min=0, help="Learning rate of the encoder.")]
Negatives = Annotated[
    int,
    typer.Option(
        min=0, help="Passages of other records, by BM25, for a record with fewer of its own."
    ),
]
Patience = Annotated[
    int, typer.Option(min=0, help="Evaluations without a better one before it stops; 0: never.")
]
Rank = Annotated[
    int, typer.Option(min=0, help="Rank of the stored differences; 0 stores them whole.")
]
Base = Annotated[str, typer.Option(help="The encoder to start from: name or path.")]
Seed = Annotated[int, typer.Option(help="Of every random choice.")]
TrainDtype = Annotated[
    Dtype, typer.Option("--dtype", help="Number format of the passes; weights are float32.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]


def check(files: Sequence[Path], base: str) -> None:
    """Refuse files that are not there or are called alike, and a base that is not there."""
    from grasp_cli.models.locate import find_all

    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise UsageError(f"there is no file {missing[0]}")
    if len({file.name for file in files}) < len(files):
        raise UsageError("two of the files have the same name: give them different names")
    find_all([base])


def placed(device: str, dtype: Dtype) -> Placement:
    """Where and in which number format a training computes."""
    from grasp_cli.models.placement import place

    placement = place(device, dtype.value)
    if placement.dtype == "float16":  # small gradients would become 0 without a scaled loss
        return place(device, "float32")
    return placement
