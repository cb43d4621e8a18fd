"""Ids of passages: the document's own, or with a number for a part of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from grasp_cli.retrieval.ranking import Order

PassageId = tuple[str, int | None]  # document, and part of it or None for the whole


def part_mark(ids: Sequence[PassageId]) -> str:
    """The shortest run of "#" between document and number that gives no id twice."""
    parts: dict[str, int] = {}
    for document, part in ids:
        if part is not None:
            parts[document] = part + 1
    return free_mark("#", [document for document, part in ids if part is None], parts)


def free_mark(character: str, ids: Sequence[str], parts: Mapping[str, int]) -> str:
    """The shortest run of `character` with which no part of a document has one of `ids`.

    `parts` says how many parts each document has.
    """
    mark = character
    while any(_is_part(document, mark, parts) for document in ids):
        mark += character
    return mark


def order_of(ids: Sequence[PassageId], mark: str) -> Order:
    """The place of each id among all of them, sorted."""
    names = [name if part is None else f"{name}{mark}{part}" for name, part in ids]
    order = np.empty(len(names), np.uint32)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return order


def _is_part(identifier: str, mark: str, parts: Mapping[str, int]) -> bool:
    document, found, number = identifier.rpartition(mark)
    if not found or not re.fullmatch("0|[1-9][0-9]{0,8}", number):
        return False
    return int(number) < parts.get(document, 0)
