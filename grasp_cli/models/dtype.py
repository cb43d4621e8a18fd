"""Which number format the models run in, and why."""

from __future__ import annotations


def choose_dtype(given: str) -> str:
    """`auto` is float32: the same input then gives the same bytes whatever the batch."""
    return "float32" if given == "auto" else given
