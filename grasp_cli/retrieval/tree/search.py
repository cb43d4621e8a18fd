"""Questions to nodes: which trees are searched, and what the beam finds in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.retrieval.tree.beam import Searches, beam_search
from grasp_cli.retrieval.tree.index import TreeIndex
from grasp_cli.retrieval.tree.scoring import SCALE, rounded_cosines

Places = npt.NDArray[np.int64]
_SCORES = 1 << 24  # at once
_FIRST = 256  # candidates that are sorted to begin with


@dataclass(frozen=True)
class Node:
    """A node that was found."""

    document: int  # its place among the documents with trees
    node: int
    score: float  # cosine, rounded


class Candidates:
    """The nodes that were scored for one question.

    Iterated best first, ties by the document's id, then by node; only as many are sorted as are
    taken.
    """

    def __init__(self, documents: Places, nodes: Places, scores: Places, order: Any) -> None:
        self._documents = documents
        self._nodes = nodes
        self._scores = scores
        self._order = order  # of ids

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        given, most = 0, _FIRST
        while given < len(self):
            for place in self._best(most)[given:]:
                score = int(self._scores[place]) / SCALE
                yield Node(int(self._documents[place]), int(self._nodes[place]), score)
            given, most = most, 4 * most

    def _best(self, most: int) -> Places:
        """The places of the `most` best, all where there are fewer."""
        chosen = np.arange(len(self))
        if most < len(self):
            least = np.partition(self._scores, len(self) - most)[len(self) - most]
            chosen = np.flatnonzero(self._scores >= least)
        order = self._order[self._documents[chosen]]
        best = np.lexsort((self._nodes[chosen], order, -self._scores[chosen]))[:most]
        return np.asarray(chosen[best], np.int64)


class TreeSearch:
    """Beam search in the trees of an index.

    Parameters
    ----------
    beam : how many nodes of a tree go on from one level to the next
    threshold : the least score of a candidate; None takes all
    """

    def __init__(self, trees: TreeIndex, *, beam: int, threshold: float | None = None) -> None:
        self._trees = trees
        self._beam = beam
        self._least = -np.inf if threshold is None else round(threshold * SCALE, 6)
        starts, self._nodes = (np.asarray(n, np.int64) for n in (trees.starts, trees.nodes))
        self._counts = np.diff(starts)  # chunks of each document
        self._merges = self._nodes - starts  # how many merges stand before each
        self._planted = np.flatnonzero(self._counts)  # documents with at least one chunk

    def everywhere(self, questions: npt.NDArray[np.float32]) -> list[Candidates]:
        """The candidates of each question, from all trees; questions have length one."""
        found: list[list[tuple[Places, Places, Places]]] = [[] for _ in questions]
        nodes = self._nodes
        first, last = 0, 0
        while first < len(self._planted):
            start = nodes[self._planted[first]]
            most = start + max(1, _SCORES // max(1, len(questions)))
            ends = nodes[self._planted[first:] + 1]
            last = first + max(1, int(np.searchsorted(ends, most, "right")))
            documents = self._planted[first:last]
            end = nodes[documents[-1] + 1]
            scores = rounded_cosines(questions, self._trees.vectors[start:end])
            offsets = np.arange(len(questions))[:, None] * (end - start) - start
            base = nodes[documents] + offsets
            owners = np.repeat(np.arange(len(questions)), len(documents))
            all_documents = np.tile(documents, len(questions))
            parts = self._found(scores.ravel(), base.ravel(), all_documents, owners)
            for number, part in parts:
                found[number].append(part)
            first = last
        return [self._candidates(parts) for parts in found]

    def within(
        self, questions: npt.NDArray[np.float32], pools: Sequence[Sequence[int]]
    ) -> list[Candidates]:
        """The candidates of each question, from the trees of its own documents only."""
        nodes = self._nodes
        scores, bases, documents, owners, cursor = [], [], [], [], 0
        for number, pool in enumerate(pools):
            for document in pool:
                if self._counts[document] == 0:
                    continue
                vectors = self._trees.vectors[nodes[document] : nodes[document + 1]]
                scores.append(rounded_cosines(questions[number : number + 1], vectors)[0])
                bases.append(cursor)
                documents.append(document)
                owners.append(number)
                cursor += len(vectors)
        found: list[list[tuple[Places, Places, Places]]] = [[] for _ in pools]
        if documents:
            together = np.concatenate(scores)
            places = (np.array(part, np.int64) for part in (bases, documents, owners))
            for number, part in self._found(together, *places):
                found[number].append(part)
        return [self._candidates(parts) for parts in found]

    def roots(self, questions: npt.NDArray[np.float32], most: int) -> list[list[int]]:
        """The `most` documents of each question whose roots are nearest, ties by id."""
        last = self._nodes[self._planted + 1] - 1
        scores = rounded_cosines(questions, self._trees.vectors[last])
        order = self._trees.order[self._planted]
        best = [np.lexsort((order, -row))[:most] for row in scores]
        return [self._planted[places].tolist() for places in best]

    def traced(
        self, question: npt.NDArray[np.float32], document: int
    ) -> tuple[dict[int, float], set[int]]:
        """The scores of the nodes that are scored in one tree, and those that were in a beam."""
        vectors = self._trees.tree(document).vectors
        if not len(vectors):
            return {}, set()
        scores = rounded_cosines(question[None], vectors)[0]
        one = (np.array([value]) for value in (0, self._counts[document], self._merges[document]))
        kept = np.zeros(len(scores), bool)
        scored = beam_search(scores, Searches(*one), self._trees.merges, self._beam, kept)
        found = {int(node): int(scores[node]) / SCALE for node in np.flatnonzero(scored)}
        return found, set(np.flatnonzero(kept).tolist())

    def _found(
        self, scores: npt.NDArray[np.int32], base: Places, documents: Places, owners: Places
    ) -> Iterator[tuple[int, tuple[Places, Places, Places]]]:
        """Per question, documents, nodes and scores of what the beam scored."""
        searches = Searches(base, self._counts[documents], self._merges[documents])
        scored = beam_search(scores, searches, self._trees.merges, self._beam)
        places = np.flatnonzero(scored & (scores >= self._least))
        search = np.searchsorted(base, places, "right") - 1
        nodes = places - base[search]
        owner, here = owners[search], np.asarray(scores[places], np.int64)
        for number in np.unique(owner):
            own = slice(*np.searchsorted(owner, [number, number + 1]))
            yield int(number), (documents[search[own]], nodes[own], here[own])

    def _candidates(self, parts: list[tuple[Places, Places, Places]]) -> Candidates:
        none = np.empty(0, np.int64)
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [none] * 3
        return Candidates(columns[0], columns[1], columns[2], self._trees.order)
