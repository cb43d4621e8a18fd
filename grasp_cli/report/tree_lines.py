"""A document's tree as lines to be drawn, from the root down.

The larger child of a node stands below it at the same depth, the smaller one a step further in: so
no line is further in than the binary logarithm of the chunks, however deep the tree is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from grasp_cli.retrieval.tree.index import Planted


class TreeLine(NamedTuple):
    """A node as it is drawn."""

    node: int
    depth: int  # steps further in
    level: int  # from the root
    chunks: int  # below it
    spans: int  # of adjacent chunks
    start: int
    end: int  # of its first span
    strength: float | None  # of the merge that made it; None for a chunk
    score: float | None  # of what a search scored
    kept: bool  # whether it went on in a beam


class Search(NamedTuple):
    """What a beam search did in a tree."""

    question: str
    scores: Mapping[int, float]  # of the nodes that were scored
    kept: Collection[int]  # the nodes that were in a beam

    @property
    def best(self) -> int:
        """The node of the highest score."""
        return min(self.scores, key=lambda node: (-self.scores[node], node))


class DrawnTree(NamedTuple):
    """A document, its tree and perhaps a search in it."""

    id: str
    title: str
    text: str
    lines: Sequence[TreeLine]
    search: Search | None

    def said(self, line: TreeLine) -> str:
        """A chunk's text, or how many chunks a node joins."""
        if line.chunks == 1:
            return " ".join(self.text[line.start : line.end].split())
        apart = f" in {line.spans} places" if line.spans > 1 else ""
        return f"{line.chunks} chunks{apart}"


def drawn(document: Mapping[str, Any], tree: Planted, search: Search | None = None) -> DrawnTree:
    """The lines of a document's tree."""
    title = document.get("title") or ""
    lines = list(_lines(tree, search))
    return DrawnTree(document["id"], title, document["text"], lines, search)


def _lines(tree: Planted, search: Search | None) -> Iterator[TreeLine]:
    count, pairs = len(tree.chunks), tree.pairs.tolist()
    sizes = [1] * count
    for left, right in pairs:
        sizes.append(sizes[left] + sizes[right])
    waiting = [(tree.root, 0, 0)] if count else []
    while waiting:
        node, depth, level = waiting.pop()
        spans = tree.spans(node)
        yield TreeLine(
            node,
            depth,
            level,
            sizes[node],
            len(spans),
            *spans[0],
            float(tree.strengths[node - count]) if node >= count else None,
            search.scores.get(node) if search else None,
            bool(search and node in search.kept),
        )
        if node >= count:
            large, small = sorted(pairs[node - count], key=lambda child: (-sizes[child], child))
            waiting.append((large, depth, level + 1))
            waiting.append((small, depth + 1, level + 1))
