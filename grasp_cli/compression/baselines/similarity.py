"""Similarity of the question and units that an encoder reads one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.encoder import Encoder

Floats = npt.NDArray[np.float64]


def similarities(
    encoder: Encoder, tasks: Sequence[Task], units: Sequence[Sequence[Unit]], *, cosine: bool
) -> list[Floats]:
    """Rounded dot products (or cosines) of each task's question and units, shape (units,) each.

    A passage as a unit is read as its text stands, without its title.
    """
    texts = [
        [_text(task, unit) for unit in members] for task, members in zip(tasks, units, strict=True)
    ]
    questions = _vectors(encoder, [task.question for task in tasks], cosine)
    vectors = _vectors(encoder, [text for members in texts for text in members], cosine)
    found, start = [], 0
    for question, members in zip(questions, texts, strict=True):
        own = vectors[start : start + len(members)]
        start += len(members)
        found.append(np.round((own * question).sum(axis=1), SCORE_DECIMALS))
    return found


def _text(task: Task, unit: Unit) -> str:
    passage = task.passages[unit.passage]
    whole = len(unit.sentences) == len(passage.sentences)
    return passage.text.strip() if whole else unit.text(passage)


def _vectors(encoder: Encoder, texts: Sequence[str], cosine: bool) -> Floats:
    vectors = encoder.embed(texts).astype(np.float64)
    if cosine:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors
