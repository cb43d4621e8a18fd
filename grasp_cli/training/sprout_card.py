"""The card that a training of trees writes beside its weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grasp_cli.training.sprout import Trained

_TEMPLATE = """\
# Weights of trees for grasp

What is near in a document's tree (SproutRAG): a weight for each layer and attention head of the
encoder{tuned}. Use it with `grasp index --with-tree --tree-weights DIRECTORY`.

- Base: {base}; {megabytes} MB.
- Trained: {date}, by `{command}`
- Data: {data}; {held} questions were held back, for the choice of the best epoch.
- Licence: the weights derive from the data above; their licences apply to what you share.

## Measured on the held-back questions

| | before | after |
|---|---|---|
| InfoNCE of a passage with evidence against those without | {contrast} |
| mean -log M of chunks that support the answer together | {support} |
| AUC of M: such pairs before all other pairs of the document | {pairs} |

## Settings

{settings}
"""


def card(
    done: Trained,
    sizes: Mapping[str, int],
    held: int,
    base: str,
    command: str,
    settings: Mapping[str, Any],
    date: str,
) -> str:
    """The card as Markdown."""
    rows = {
        name: " | ".join("-" if v is None else f"{v:.4f}" for v in values)
        for name, *values in zip(done.before._fields, done.before, done.after, strict=True)
    }
    return _TEMPLATE.format(
        tuned="" if settings["only_heads"] else ", and a difference to the encoder itself",
        base=base,
        megabytes=done.megabytes,
        date=date,
        command=command,
        data=", ".join(f"{source} ({count} questions)" for source, count in sizes.items()),
        held=held,
        settings=", ".join(f"{key} {value}" for key, value in settings.items()),
        **rows,
    )
