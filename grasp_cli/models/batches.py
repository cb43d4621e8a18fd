"""Batches of token sequences whose results do not depend on one another.

Texts are padded to a multiple of eight tokens and only texts of the same padded length share a
batch, so that the shapes of a text's own arithmetic are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grasp_cli.models.runtime import torch_runtime

STEP = 8  # padded lengths are multiples of this


def batches(
    sizes: Sequence[int], batch_tokens: int, *, exact_above: int | None = None
) -> Iterator[tuple[int, list[int]]]:
    """Padded length and members of each batch; longest first, so that memory peaks at once.

    Parameters
    ----------
    sizes
        Tokens of each text.
    batch_tokens
        Most tokens of a batch, padding included; at least one text is in each.
    exact_above
        Longer texts are not padded.
    """
    groups: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        exact = exact_above is not None and size > exact_above
        groups.setdefault(size if exact else -(-size // STEP) * STEP, []).append(number)
    for length in sorted(groups, reverse=True):
        rows = max(1, batch_tokens // length)
        members = groups[length]
        for start in range(0, len(members), rows):
            yield length, members[start : start + rows]


def padded(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], length: int, config: Any, device: str
) -> dict[str, Any]:
    """The inputs of a batch of texts or pairs of texts, shape (rows, length) each.

    Parameters
    ----------
    rows
        Token ids of each, special ones included, and the segment of each token.
    length
        That they are padded to.
    config
        Of the model: segments are given to those that have them.
    """
    torch = torch_runtime()
    ids, kinds, mask = (torch.zeros((len(rows), length), dtype=torch.long) for _ in range(3))
    for row, (tokens, segments) in enumerate(rows):
        ids[row, : len(tokens)] = torch.tensor(list(tokens))
        kinds[row, : len(tokens)] = torch.tensor(list(segments))
        mask[row, : len(tokens)] = 1
    inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
    if getattr(config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = kinds.to(device)
    return inputs
