"""Stand-ins for models: scores that depend on nothing but the text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from grasp_cli.compression.grasp import Grasp
from grasp_cli.compression.sentence_vectors import EncoderVectors
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import CompressDefaults


def number(text: str) -> float:
    """From 0 to 1, the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


class Embedder:
    """Vectors of length one by hash; a token is a character."""

    name, room = "fake", 400
    tokenizer = SimpleNamespace(
        encode=lambda text, add_special_tokens: SimpleNamespace(ids=list(text))
    )

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        angles = [6.28 * number(text) for text in texts]
        return np.asarray([[np.cos(a), np.sin(a)] for a in angles], np.float32).reshape(-1, 2)


class Coarse:
    def load(self) -> None: ...

    def refusal(self, task: Task) -> None: ...

    def scores(self, tasks: Sequence[Task]) -> list[list[np.ndarray]]:
        return [
            [
                np.asarray([number(p.sentence(i)) for i in range(len(p.sentences))]).round(4)
                for p in task.passages
            ]
            for task in tasks
        ]


class Classifier:
    name = "fake"
    cut_tokens: ClassVar[list[int]] = []

    def load(self) -> None: ...

    def refusal(self, task: Task) -> None: ...

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[np.ndarray]:
        return [
            np.asarray(
                [number(task.question + u.text(task.passages[u.passage])) for u in members]
            ).round(4)
            for task, members in zip(tasks, units, strict=True)
        ]


class Words:
    """Counts words."""

    name = "words"

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


def compressor(options: CompressDefaults, counter: Words | None = None) -> Compress:
    """The stage as it is, on fake models."""
    graph = EncoderVectors(Embedder())  # type: ignore[arg-type]
    method = Grasp(Coarse(), graph, Classifier(), options, 0.001)
    setting = Setting("embedded", "float32", "rule")
    embedder = Embedder() if options.redundancy else None
    counter = counter or Words()
    return Compress(method, embedder, counter, options, setting)  # type: ignore[arg-type]
