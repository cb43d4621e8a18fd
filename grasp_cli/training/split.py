"""Which examples are trained on, and which are held back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from grasp_cli.defaults import TEXT, TrainDefaults
from grasp_cli.pipe.sources import read_records
from grasp_cli.training.evidence_examples import Example, by_source, example


def read_examples(
    files: Sequence[Path], settings: TrainDefaults
) -> tuple[list[Example], list[Example]]:
    """The records of files as training and held-back examples.

    Raises `DataError` for a record without gold, or with gold that is not in its texts.
    """
    examples = [
        example(record, file.name, TEXT.splitter)
        for file in files
        for record in read_records([file])
    ]
    return split(examples, settings.held_back, settings.held_back_most, settings.seed)


def split(
    examples: Sequence[Example], share: float, most: int, seed: int
) -> tuple[list[Example], list[Example]]:
    """Training and held-back examples of each file; no gold passage is in both."""
    held: list[Example] = []
    for source, members in by_source(examples).items():
        count = min(most, round(share * len(members)))
        held += random.Random(f"{seed} {source}").sample(members, count)
    keys = {made.key for made in held}
    seen = {text for made in held for text in _gold_texts(made)}
    training = [
        made
        for made in examples
        if made.key not in keys and not any(text in seen for text in _gold_texts(made))
    ]
    return training, held


def _gold_texts(made: Example) -> list[str]:
    some = {place for place, _ in made.some}
    return [
        passage.text
        for number, (passage, labels) in enumerate(zip(made.passages, made.labels, strict=True))
        if number in some or (labels == 1).any()
    ]
