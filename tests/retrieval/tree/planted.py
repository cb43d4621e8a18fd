"""Trees without a model: chunks as hashed words, read in windows of a few chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.models.chunk_encoder import ChunkedText, PooledWindow
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree.building import TreeBuilder
from grasp_cli.retrieval.tree.settings import TreeSettings
from grasp_cli.retrieval.writer import Built, Settings, build
from tests.retrieval.fakes import HashingEncoder

WORDS = [
    "river",
    "ice",
    "sun",
    "museum",
    "bridge",
    "tower",
    "glass",
    "iron",
    "snow",
    "lamp",
    "salt",
]


class HashingWindows:
    """In place of a `ChunkEncoder`: windows of up to four chunks, each beginning with one again."""

    dimension = 16

    def __init__(self) -> None:
        self.read: list[str] = []

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        encoder = HashingEncoder()
        for number, text in enumerate(texts):
            self.read.append(text.text)
            chunks = [text.title + " " + text.text[start:end] for start, end in text.chunks]
            first = 0
            while first < len(chunks):
                last = min(first + 4, len(chunks))
                vectors = encoder.embed(chunks[first:last])
                relation = np.abs(vectors @ vectors.T).astype(np.float32)
                relation = (relation + relation.T) / 2
                yield number, PooledWindow(first, last, [1] * (last - first), vectors, relation)
                first = last - 1 if last < len(chunks) else last

    def finish(self, vectors: Any) -> Any:
        return vectors


def settings(kind: str = "embedding", merge: str = "mean-of-two", **more: Any) -> Settings:
    more = {"passage_words": 12, **more}
    return Settings("hashing", "0", tree=TreeSettings(kind, merge, 1), **more)


def planted(documents: Any, directory: Path, made: Settings | None = None, **options: Any) -> Built:
    """Build an index with trees."""
    made = made or settings()
    assert made.tree is not None
    trees = TreeBuilder(made.tree, HashingWindows(), titles=made.index_title)
    return build(documents, directory, made, HashingEncoder(), trees=trees, **options)


def opened(documents: Any, directory: Path, made: Settings | None = None) -> Index:
    """Build an index with trees and open it."""
    planted(documents, directory, made)
    return Index(directory)


def some_documents(count: int, seed: int = 0, most: int = 12) -> list[dict[str, Any]]:
    """Documents of up to `most` sentences; a few are blank or repeat one sentence."""
    chance = np.random.default_rng(seed)
    found = []
    for number in range(count):
        length = int(chance.integers(1, most + 1))
        sentences = [" ".join(chance.choice(WORDS, 5)).capitalize() + "." for _ in range(length)]
        if number % 7 == 3:
            sentences = sentences[:1] * length  # ties
        text = "" if number % 9 == 5 else "  ".join(sentences)
        document = {"id": f"d{number}", "text": text, "n": number}
        if number % 4 == 0:
            document["title"] = f"Title {number}"
        found.append(document)
    return found
