"""Selections of methods that keep words or tokens: spans of the text instead of sentences.

A unit is a sentence with what was kept of it; budgets take or leave units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grasp_cli.compression.tasks import Candidate, Evidence, Passage, Selection, Task
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.text import Segment


class Piece(NamedTuple):
    """A span of a passage's text and its score."""

    start: int
    end: int
    score: float


def selection(task: Task, kept: Sequence[Sequence[Piece]], context_cut: int = 0) -> Selection:
    """What was kept of each passage, ascending, as units; neighbours become one run.

    Pieces with nothing but white space between them are neighbours. A unit's score is the best of
    its pieces.
    """
    units: list[Candidate] = []
    for passage, pieces in zip(task.passages, kept, strict=True):
        for position, sentence in enumerate(passage.sentences):
            inside = _inside(passage, sentence, pieces)
            if inside:
                units.append(_unit(passage, position, inside, len(units)))
    return Selection(units, list(range(len(units))), context_cut=context_cut)


def _inside(passage: Passage, sentence: Segment, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces as far as they lie in the sentence, without white space at their ends."""
    found = []
    for piece in pieces:
        start, end = max(piece.start, sentence.start), min(piece.end, sentence.end)
        text = passage.text[start:end]
        if start < end and text.strip():
            start += len(text) - len(text.lstrip())
            found.append(Piece(start, start + len(text.strip()), piece.score))
    return found


def _unit(passage: Passage, position: int, pieces: Sequence[Piece], unit: int) -> Candidate:
    best = round(max(piece.score for piece in pieces), SCORE_DECIMALS)
    block = passage.sentences[position].kind != "sentence"
    runs: list[Evidence] = []
    for piece in pieces:
        if runs and not passage.text[runs[-1].end : piece.start].strip():
            runs[-1] = runs[-1]._replace(end=max(runs[-1].end, piece.end))
        else:
            runs.append(
                Evidence(passage.number, piece.start, piece.end, best, unit, position, block)
            )
    return Candidate(runs, best)
