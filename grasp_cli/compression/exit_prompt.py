"""The input that EXIT's classifier was trained on, and the part of it that may be cut.

EXIT: Context-Aware Extractive Compression for Enhancing Retrieval-Augmented Generation (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grasp_cli.compression.tasks import Passage

YES, NO = "Yes", "No"
_BLANK = "\n\n"  # between documents, where the context is all of them
_PROMPT = (
    "<start_of_turn>user\nQuery:\n{query}\nFull context:\n{context}\nSentence:\n{unit}\n"
    'Is this sentence useful in answering the query? Answer only "Yes" or "No".<end_of_turn>\n'
    "<start_of_turn>model\n"
)


def prompt(query: str, context: str, unit: str) -> str:
    """The text of one input, without the BOS in front of it."""
    return _PROMPT.format(query=query, context=context, unit=unit)


class Context(NamedTuple):
    """What a unit is judged in: the text, and where in it each passage's own text begins."""

    text: str
    starts: dict[int, int]  # passage number -> offset


def contexts(passages: Sequence[Passage], scope: str) -> dict[int, Context]:
    """The context of each passage: its document (scope "document"), or all of them ("all")."""
    if scope == "document":
        return {
            passage.number: Context(_document(passage), {passage.number: len(_heading(passage))})
            for passage in passages
        }
    starts, text = {}, ""
    for passage in passages:
        text += _BLANK if text else ""
        starts[passage.number] = len(text) + len(_heading(passage))
        text += _document(passage)
    whole = Context(text, starts)
    return {passage.number: whole for passage in passages}


def _heading(passage: Passage) -> str:
    return f"{passage.title}\n" if passage.title else ""


def _document(passage: Passage) -> str:
    return _heading(passage) + passage.text


def windows(ends: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Cut a text of tokens that end at characters `ends` into overlapping windows.

    Each window has `room` tokens (one or more) and begins half a window after the one before, so
    that every place lies at least a quarter of a window from the ends of one, those of the text
    excepted. Returns (start, end) in characters.
    """
    step = max(1, room // 2)
    firsts = range(0, max(1, len(ends) - room + step), step)
    return [
        (ends[first - 1] if first else 0, ends[min(first + room, len(ends)) - 1] if ends else 0)
        for first in firsts
    ]


def nearest(found: Sequence[tuple[int, int]], place: float) -> int:
    """The window whose middle is nearest to `place`; the text's ends count as middles there."""
    return min(range(len(found)), key=lambda number: (_off_middle(found[number], place), number))


def _off_middle(window: tuple[int, int], place: float) -> float:
    start, end = window
    return abs(place - (start + end) / 2)
