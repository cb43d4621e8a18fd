"""The model card that a training writes beside its weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grasp_cli.training.evidence_finish import Finished

_TEMPLATE = """\
# Evidence classifier for grasp

Scores the sentences of a passage for a question in one pass; use it with
`grasp compress --classifier DIRECTORY --embedder DIRECTORY --coarse-model DIRECTORY`.

- Base: {base}, of which the difference is stored ({megabytes} MB, float16, {rank}).
- Trained: {date}, by `{command}`
- Data: {data}; {held} questions were held back for early stopping, calibration and presets.
- Licence: the weights derive from the data above; their licences apply to what you share.

## Measured on the held-back questions

| | AUC per question | gold recall, best 20 % of sentences | best 30 % |
|---|---|---|---|
| weights as trained | {whole.auc} | {whole.recall_20} | {whole.recall_30} |
| as stored | {stored.auc} | {stored.recall_20} | {stored.recall_30} |
{calibrated_row}

| preset | gold units kept | other units dropped |
|---|---|---|
{points}

Calibration error (ten bins, before the shift to 0.5): {error}. Edges of the evidence graph that
agree with those of {base}: {edges.pairs:.1%} (recall {edges.recall:.1%}, precision
{edges.precision:.1%}).
These questions also chose the presets; measure on data of your own that is in no training file.

## Settings

{settings}
"""


def card(
    done: Finished,
    sizes: Mapping[str, int],
    held: int,
    base: str,
    command: str,
    settings: Mapping[str, Any],
    date: str,
) -> str:
    """The card as Markdown."""
    calibrated = done.calibrated
    return _TEMPLATE.format(
        base=base,
        megabytes=done.megabytes,
        rank=f"rank {settings['rank']}" if settings["rank"] else "whole",
        date=date,
        command=command,
        data=", ".join(f"{source} ({count} questions)" for source, count in sizes.items()),
        held=held,
        whole=done.whole,
        stored=done.stored,
        calibrated_row=f"| with the features of the record | {calibrated.auc} "
        f"| {calibrated.recall_20} | {calibrated.recall_30} |",
        points="\n".join(
            f"| {name} | {kept:.1%} | {dropped:.1%} |"
            for name, (kept, dropped) in done.points.items()
        ),
        error=done.calibration_error,
        edges=done.edges,
        settings=", ".join(f"{key} {value}" for key, value in settings.items()),
    )
