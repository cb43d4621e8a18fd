"""Beam search over all trees at once against one tree and one node at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree import search as searching
from grasp_cli.retrieval.tree.beam import Searches, beam_search
from grasp_cli.retrieval.tree.linkage import Dense, single_linkage
from grasp_cli.retrieval.tree.nesting import distinct_contexts, without_nested
from grasp_cli.retrieval.tree.scoring import rounded_cosines
from grasp_cli.retrieval.tree.search import Candidates, TreeSearch
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.tree import naive
from tests.retrieval.tree.planted import opened, some_documents
from tests.retrieval.tree.test_linkage import symmetric

QUESTIONS = ["river ice", "the museum of glass", "snow", "salt tower bridge lamp"]


def vectors(questions: list[str] = QUESTIONS) -> Any:
    return HashingEncoder().embed(questions)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return opened(some_documents(40, seed=1), tmp_path / "x")


@pytest.mark.parametrize("width", [1, 2, 5])
def test_beams_equal_the_plain_search_on_200_trees(width: int) -> None:
    """All trees in one call; scores with and without ties."""
    chance, base, chunks, merge, pairs, scores = np.random.default_rng(9), [], [], [], [], []
    expected = []
    for seed in range(200):
        tree = single_linkage(Dense(symmetric(seed))).pairs
        count = len(tree) + 1
        own = chance.integers(-40, [10, 9999][seed % 2], 2 * count - 1)
        base.append(sum(map(len, scores)))
        merge.append(sum(map(len, pairs)))
        chunks.append(count)
        pairs.append(tree)
        scores.append(own)
        scored = naive.beam(own.tolist(), tree.tolist(), width)
        expected += [node in scored for node in range(2 * count - 1)]
    searches = Searches(*(np.array(part, np.int64) for part in (base, chunks, merge)))
    flat = np.concatenate(scores).astype(np.int32)
    found = beam_search(flat, searches, np.concatenate(pairs), width)
    assert found.tolist() == expected
    assert not all(expected)


def plain(index: Index, question: Any, documents: list[int], width: int) -> list[Any]:
    """One question: nodes of some documents, best first, ties by id and node."""
    found = []
    for place in documents:
        tree = index.trees.tree(place)
        if tree.root < 0:
            continue
        exact = tree.vectors.astype(np.float64) @ question.astype(np.float64)
        scores = exact.round(4).tolist()
        name = index.trees.document(place)["id"]
        for node in naive.beam(scores, tree.pairs.tolist(), width):
            found.append((-scores[node], name, node, place))
    return [(place, node, -score) for score, _, node, place in sorted(found)]


def listed(candidates: Candidates) -> list[Any]:
    return [(node.document, node.node, node.score) for node in candidates]


def test_everywhere(index: Index) -> None:
    found = TreeSearch(index.trees, beam=2).everywhere(vectors())
    for question, candidates in zip(vectors(), found, strict=True):
        assert listed(candidates) == plain(index, question, list(range(len(index.trees))), 2)


def test_what_is_searched_at_once_changes_nothing(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [listed(c) for c in TreeSearch(index.trees, beam=2).everywhere(vectors())]
    monkeypatch.setattr(searching, "_SCORES", 50)
    parts = TreeSearch(index.trees, beam=2).everywhere(vectors())
    assert [listed(candidates) for candidates in parts] == whole
    alone = [TreeSearch(index.trees, beam=2).everywhere(v[None])[0] for v in vectors()]
    assert [listed(candidates) for candidates in alone] == whole
    monkeypatch.setattr(searching, "_FIRST", 3)
    assert [listed(candidates) for candidates in alone] == whole


def test_within_pools(index: Index) -> None:
    pools = [[3, 1], [], [5, 30, 2, 8], [0]]
    found = TreeSearch(index.trees, beam=5).within(vectors(), pools)
    for question, pool, candidates in zip(vectors(), pools, found, strict=True):
        assert listed(candidates) == plain(index, question, pool, 5)


def test_roots(index: Index) -> None:
    trees = index.trees
    found = TreeSearch(trees, beam=5).roots(vectors(), 7)
    for question, places in zip(vectors(), found, strict=True):
        scores = []
        for place in range(len(trees)):
            tree = trees.tree(place)
            if tree.root >= 0:
                cosine = float(tree.vectors[tree.root].astype(float) @ question.astype(float))
                scores.append((-round(cosine, 4), trees.document(place)["id"], place))
        assert places == [place for _, _, place in sorted(scores)[:7]]


def test_a_threshold(index: Index) -> None:
    (all_of_them,) = TreeSearch(index.trees, beam=5).everywhere(vectors()[:1])
    scores = [node.score for node in all_of_them]
    assert min(scores) < 0.3 < max(scores)
    (some,) = TreeSearch(index.trees, beam=5, threshold=0.3).everywhere(vectors()[:1])
    assert listed(some) == [item for item in listed(all_of_them) if item[2] >= 0.3]
    (none,) = TreeSearch(index.trees, beam=5, threshold=1.1).everywhere(vectors()[:1])
    assert listed(none) == []


def test_scores_are_those_of_float64_rounded() -> None:
    chance = np.random.default_rng(2)
    nodes = chance.standard_normal((20_000, 64)).astype(np.float32)
    nodes /= np.linalg.norm(nodes, axis=1, keepdims=True)
    questions = nodes[:3] + nodes[3:6]
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    exact = questions.astype(np.float64) @ nodes.astype(np.float64).T
    np.testing.assert_array_equal(rounded_cosines(questions, nodes), (exact * 1e4).round())
    plain_float32 = np.rint(questions @ nodes.T * np.float32(1e4))
    assert (plain_float32 != (exact * 1e4).round()).any()  # why they are computed again


def test_nested() -> None:
    items = [
        ("a", "d", [(0, 10), (20, 30)]),
        ("inside", "d", [(20, 25)]),
        ("elsewhere", "e", [(20, 25)]),
        ("around", "d", [(0, 40)]),
        ("across", "d", [(5, 15)]),
        ("between", "d", [(11, 19)]),
        ("again", "d", [(0, 10), (20, 30)]),
        ("parts of two", "d", [(0, 10), (11, 19)]),
    ]
    assert list(without_nested(items)) == ["a", "elsewhere", "across", "between"]


def test_nested_contexts() -> None:
    node = {"id": "d@1", "doc_id": "d", "start": 0, "end": 9, "text": "One. Two."}
    passage = {"id": "d#0", "doc_id": "d", "start": 5, "end": 16, "text": "Two. Three."}
    document = {"id": "d", "text": "One. Two. Three."}
    assert [c["id"] for c in distinct_contexts([node, passage, document])] == ["d@1", "d#0"]
    assert [c["id"] for c in distinct_contexts([document, node])] == ["d"]
