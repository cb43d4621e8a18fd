"""Whether the tree files of an index fit one another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grasp_cli.retrieval.ids import order_of
from grasp_cli.retrieval.tree import files
from grasp_cli.retrieval.tree.index import Planted, TreeIndex
from grasp_cli.retrieval.tree.nodes import node_count


def tree_contradictions(trees: TreeIndex) -> Iterator[str]:
    """The files that do not fit the others, although each is as it was written."""
    documents = [trees.document(place) for place in range(len(trees))]
    names = [(document["id"], None) for document in documents]
    if not np.array_equal(order_of(names, "#"), trees.order):
        yield files.ORDER
    if len(trees.of_passages) and int(np.max(trees.of_passages)) >= len(trees):
        yield files.PASSAGE_DOCUMENTS
    problems = set[str]()
    for place, document in enumerate(documents):
        problems.update(_problems(trees.tree(place), len(document["text"])))
    yield from sorted(problems)


def _problems(tree: Planted, length: int) -> Iterator[str]:
    chunks = np.asarray(tree.chunks, np.int64).ravel()
    if len(chunks) and (np.any(np.diff(chunks) < 0) or chunks[-1] > length):
        yield files.CHUNKS
    if len(tree.vectors) != node_count(len(tree.chunks)):
        yield files.NODES
    children = np.sort(np.asarray(tree.pairs, np.int64), axis=None)
    if not np.array_equal(children, np.arange(max(0, tree.root))):
        yield files.MERGES
    if not np.isfinite(tree.vectors).all():
        yield files.VECTORS
