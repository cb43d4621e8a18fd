"""Corpora for the benchmark of trees, and the trees of one without a flat index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from grasp_cli.defaults import TREE
from grasp_cli.formats import load_format
from grasp_cli.models.chunk_encoder import ChunkedText
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.tree import files
from grasp_cli.retrieval.tree.assembling import copy_trees
from grasp_cli.retrieval.tree.building import TreeBuilder, WindowEncoder
from grasp_cli.retrieval.tree.chunks import chunk
from grasp_cli.retrieval.tree.index import TreeIndex
from grasp_cli.retrieval.tree.settings import TreeSettings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

Planter = Callable[..., TreeIndex]  # kind of tree, encoder, sentences of a chunk


@dataclass(frozen=True)
class Dataset:
    """A file of questions with their documents; `long`: a question has one document."""

    name: str
    form: str
    path: str
    long: bool = False


DATASETS = (
    Dataset("HotpotQA", "hotpotqa", "hotpotqa/dev.json"),
    Dataset("2WikiMultiHopQA", "hotpotqa", "2wikimultihopqa/dev.json"),
    Dataset("QASPER", "qasper", "qasper/papers.jsonl", long=True),
    Dataset("ContractNLI", "contract-nli", "contract_nli/contract_nli_dev.json", long=True),
)


@dataclass
class Corpus:
    """The questions of a set that have gold evidence, and its distinct documents."""

    records: list[Record]
    documents: list[Record]

    @classmethod
    def of(cls, dataset: Dataset, limit: int | None) -> Corpus:
        """All of a set, or what its first records have."""
        records = list(islice(load_format(dataset.form).records(DATA / dataset.path), limit))
        found = {context["id"]: context for record in records for context in record["contexts"]}
        return cls([record for record in records if record.get("evidence_gold")], [*found.values()])

    def texts(self, sentences: int) -> list[ChunkedText]:
        """What an encoder reads."""
        return [
            ChunkedText(d["text"], chunk(d["text"], sentences), d.get("title") or "")
            for d in self.documents
        ]

    @property
    def questions(self) -> list[str]:
        """What is asked."""
        return [record["question"] for record in self.records]

    def own(self) -> list[list[int]]:
        """The documents of each question."""
        places = {document["id"]: place for place, document in enumerate(self.documents)}
        return [[places[c["id"]] for c in record["contexts"]] for record in self.records]


def planter(corpus: Corpus, folder: Path) -> Planter:
    """What makes the trees of a corpus, each time in a directory of its own."""
    made = 0

    def planted(
        kind: str, encoder: WindowEncoder, sentences: int = TREE.chunk_sentences
    ) -> TreeIndex:
        nonlocal made
        made += 1
        settings = TreeSettings(kind, chunk_sentences=sentences)
        trees = list(TreeBuilder(settings, encoder, titles=True).build(corpus.documents))
        growing, done = folder / f"{made}.growing", folder / str(made)
        (growing / files.TREE).mkdir(parents=True)
        done.mkdir()
        for name, data in files.tree_bytes(corpus.documents, trees).items():
            (growing / name).write_bytes(data)
        vectors = np.concatenate([tree.vectors for tree in trees])
        (growing / files.VECTORS).write_bytes(vectors.astype("<f4").tobytes())
        source = files.GrowingFiles(growing, "float32", encoder.dimension)
        stated = copy_trees(done, [(source, frozenset())], [])
        return TreeIndex(done, stated, "float32", encoder.dimension, 0)

    return planted
