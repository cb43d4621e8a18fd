"""Trees in an index: what is stored, kept under changes, resumed, checked, and refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from grasp_cli.defaults import INDEX
from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.pipe.provenance import document_spans
from grasp_cli.retrieval import writer
from grasp_cli.retrieval.stats import stats
from grasp_cli.retrieval.store import Index, Manifest
from grasp_cli.retrieval.tree.chunks import chunk
from grasp_cli.retrieval.tree.nodes import progressive
from grasp_cli.retrieval.verify import verify
from grasp_cli.retrieval.workplace import building_of
from grasp_cli.retrieval.writer import Settings, build
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.test_store import content
from tests.retrieval.tree import naive
from tests.retrieval.tree.planted import (
    HashingWindows,
    opened,
    planted,
    settings,
    some_documents,
)

DOCUMENTS = some_documents(30)


def cosine(left: Any, right: Any) -> float:
    return float(left @ right / max(1e-9, np.linalg.norm(left) * np.linalg.norm(right)))


def test_a_stored_tree_is_that_of_the_plain_steps(tmp_path: Path) -> None:
    """Chunks, cosines, merges, means: one document after the other."""
    trees = opened(DOCUMENTS, tmp_path / "x").trees
    there = [document for document in DOCUMENTS if document["text"]]
    assert len(trees) == len(there)
    for place, document in enumerate(there):
        tree, text = trees.tree(place), document["text"]
        assert tree.chunks.tolist() == [list(span) for span in chunk(text, 1)]
        texts = [f"{document.get('title', '')} {text[a:b]}" for a, b in tree.chunks]
        vectors = HashingEncoder().embed(texts)
        matrix = np.array([[cosine(a, b) for a in vectors] for b in vectors])
        same = np.array([[a == b for a in texts] for b in texts])
        matrix[same] = 1  # equal to the last bit
        matrix = np.maximum(matrix, matrix.T).round(6)
        pairs, strengths = naive.merges(matrix)
        assert tree.pairs.tolist() == [list(pair) for pair in pairs]
        np.testing.assert_allclose(tree.strengths, strengths, atol=1e-5)
        nodes = np.array(naive.vectors(vectors, pairs, False))
        nodes /= np.linalg.norm(nodes, axis=1, keepdims=True)
        np.testing.assert_allclose(tree.vectors, nodes, atol=1e-5)


def test_a_tree_by_attention_looks_at_windows(tmp_path: Path) -> None:
    """Pairs that share no window have 0, those in two windows the mean."""
    document = {"id": "d", "text": " ".join(f"Word{n} ice w{n % 3}." for n in range(10))}
    tree = opened([document], tmp_path / "x", settings("attention")).trees.tree(0)
    texts = [" " + document["text"][a:b] for a, b in tree.chunks]
    vectors = HashingEncoder().embed(texts)
    matrix = np.zeros((10, 10), np.float32)
    for first in (0, 3, 6):
        own = slice(first, first + 4)
        matrix[own, own] = np.abs(vectors[own] @ vectors[own].T)
    np.fill_diagonal(matrix, 0)
    pairs, strengths = naive.merges(matrix)
    assert tree.pairs.tolist() == [list(pair) for pair in pairs]
    np.testing.assert_allclose(tree.strengths, strengths, atol=1e-6)


def test_both_ways_to_merge_are_stored(tmp_path: Path) -> None:
    weighted = opened(DOCUMENTS, tmp_path / "x", settings(merge="size-weighted")).trees
    tree = weighted.tree(0)
    count = len(tree.chunks)
    mean = tree.vectors[:count].mean(axis=0)
    np.testing.assert_allclose(tree.vectors[tree.root], mean / np.linalg.norm(mean), atol=1e-5)
    again = progressive(np.asarray(tree.vectors[:count]), tree.pairs, "mean-of-two")
    assert not np.allclose(again[-1] / np.linalg.norm(again[-1]), tree.vectors[-1], atol=1e-3)


def test_a_node_is_a_context_with_its_source(tmp_path: Path) -> None:
    trees = opened(DOCUMENTS, tmp_path / "x").trees
    apart = 0
    for place in range(len(trees)):
        stored, tree = trees.document(place), trees.tree(place)
        for node in range(tree.root + 1):
            context = trees.context(place, node, {"score": 0.5, "rank": 1})
            slices = [stored["text"][s["start"] : s["end"]] for s in context["source"]]
            assert context["text"] == "\n\n".join(slices)
            assert context["doc_id"] == stored["id"] and context["n"] == int(stored["id"][1:])
            spans = list(document_spans(context, 0, len(context["text"])))
            assert [stored["text"][s:e] for _, s, e in spans] == slices
            assert context["path"][0] == tree.root and context["path"][-1] == node
            assert context["level"] == len(context["path"]) - 1
            apart += len(slices) > 1
            assert ("start" in context) == (len(slices) == 1)
        whole = trees.context(place, tree.root, {})
        assert whole["text"] == stored["text"].strip() and whole["level"] == 0
    assert apart > 10


def test_a_document_is_found_by_its_id(tmp_path: Path) -> None:
    trees = opened(DOCUMENTS, tmp_path / "x").trees
    for document in DOCUMENTS:
        place = trees.place(document["id"])
        assert (place is None) == (not document["text"])
        assert place is None or trees.document(place)["id"] == document["id"]
    assert trees.place("d") is None and trees.place("e") is None


def test_ids_of_nodes_are_no_ids_of_documents(tmp_path: Path) -> None:
    documents = [{"id": "a", "text": "Ice. Sun."}, {"id": "a@2", "text": "Snow."}]
    trees = opened(documents, tmp_path / "x").trees
    assert trees.context(0, 2, {})["id"] == "a@@2"


def test_no_chunk_one_chunk_and_no_document(tmp_path: Path) -> None:
    """A title alone is found as a passage, and has no tree; one sentence is a tree of one node."""
    documents = [{"id": "a", "title": "Ice", "text": " "}, {"id": "b", "text": "Snow."}]
    trees = opened(documents, tmp_path / "x").trees
    assert [trees.tree(place).root for place in (0, 1)] == [-1, 0]
    assert trees.context(1, 0, {})["text"] == "Snow."
    assert verify(tmp_path / "x")
    assert len(opened([], tmp_path / "y").trees) == 0
    verify(tmp_path / "y")


def test_the_tree_of_identical_sentences_is_built_in_order(tmp_path: Path) -> None:
    document = {"id": "a", "text": "Ice came. " * 5}
    tree = opened([document], tmp_path / "x").trees.tree(0)
    assert tree.pairs.tolist() == [[0, 1], [5, 2], [6, 3], [7, 4]]


PAIRS = st.tuples(st.integers(0, 9), st.integers(0, 4))
SOME = st.lists(PAIRS, max_size=6, unique_by=lambda pair: pair[0])


def of(pairs: list[tuple[int, int]]) -> list[dict[str, Any]]:
    texts = [document["text"] for document in some_documents(6, seed=3)]
    return [{"id": f"d{name}", "text": texts[text]} for name, text in pairs]


@examples(deadline=None, max_examples=30)
@given(SOME, SOME, st.sets(st.integers(0, 9), max_size=3))
def test_changes_give_the_index_that_is_made_anew(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[int, int]],
    second: list[tuple[int, int]],
    deleted: set[int],
) -> None:
    place = tmp_path_factory.mktemp("trees")
    planted(of(first), place / "changed")
    base = Index(place / "changed")
    delete = {f"d{number}" for number in deleted}
    planted(of(second), place / "changed", base.manifest.settings, base=base, delete=delete)
    gone = {name for name, _ in second} | deleted
    left = [pair for pair in first if pair[0] not in gone] + second
    planted(of(left), place / "anew")
    assert content(place / "changed") == content(place / "anew")
    verify(place / "changed")


def test_what_stays_is_not_read_again(tmp_path: Path) -> None:
    planted(DOCUMENTS, tmp_path / "x")
    base = Index(tmp_path / "x")
    made, encoder, before = base.manifest.settings, HashingWindows(), len(base.trees)
    assert made.tree is not None
    trees = writer.TreeBuilder(made.tree, encoder, titles=True)
    new = [{"id": "new", "text": "Salt."}]
    build(new, tmp_path / "x", made, HashingEncoder(), base=base, trees=trees)
    assert encoder.read == ["Salt."]
    assert len(Index(tmp_path / "x").trees) == before + 1


class Stopped(Exception):
    """In place of a signal."""


def until(stop: int) -> Iterator[dict[str, Any]]:
    yield from DOCUMENTS[:stop]
    raise Stopped


@pytest.mark.parametrize("stop", [7, 20, 29])
def test_an_interrupted_build_goes_on(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "INDEX", type(INDEX)(window=6))
    planted(DOCUMENTS, tmp_path / "whole")
    with pytest.raises(Stopped):
        planted(until(stop), tmp_path / "x")
    for name in ("documents.jsonl", "vectors.bin", "merges.bin", "counts.bin"):
        with open(building_of(tmp_path / "x") / "tree" / name, "ab") as stream:
            stream.write(b"half")
    built = planted(DOCUMENTS, tmp_path / "x", resume=True)
    assert built.resumed > 0
    assert content(tmp_path / "x") == content(tmp_path / "whole")
    with pytest.raises(Stopped):
        planted(until(stop), tmp_path / "y")
    with pytest.raises(UsageError, match="other settings \\(tree was"):
        planted(DOCUMENTS, tmp_path / "y", settings("attention"), resume=True)


def test_an_index_without_trees_is_the_one_that_it_was(tmp_path: Path) -> None:
    """Its format has the number that it had before there were trees, and nothing says "tree"."""
    flat = Settings("hashing", "0", passage_words=12)
    build(DOCUMENTS, tmp_path / "flat", flat, HashingEncoder())
    planted(DOCUMENTS, tmp_path / "trees")
    made = json.loads((tmp_path / "flat" / "index.json").read_text())
    assert made["version"] == 2 and "tree" not in made
    assert json.loads((tmp_path / "trees" / "index.json").read_text())["version"] == 3
    for name in ("passages.jsonl", "vectors.bin", "order.npy", "offsets.npy"):
        assert (tmp_path / "flat" / name).read_bytes() == (tmp_path / "trees" / name).read_bytes()
    verify(tmp_path / "flat")
    with pytest.raises(UsageError, match=r"has no trees; make it again.* --with-tree"):
        _ = Index(tmp_path / "flat").trees


def test_every_changed_bit_is_seen(tmp_path: Path) -> None:
    planted(DOCUMENTS, tmp_path / "x")
    for path in sorted((tmp_path / "x" / "tree").iterdir()):
        before = path.read_bytes()
        data = bytearray(before)
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(ProcessingError, match=f"tree/{path.name}"):
            verify(tmp_path / "x")
        path.write_bytes(before[:-1])
        with pytest.raises(ProcessingError, match="missing or damaged"):
            _ = Index(tmp_path / "x").trees
        path.write_bytes(before)
    verify(tmp_path / "x")


def test_trees_of_other_documents_are_seen(tmp_path: Path) -> None:
    """Files that are whole, each for itself, and do not belong together."""
    from grasp_cli.retrieval.checksums import files_of

    planted(DOCUMENTS, tmp_path / "x")
    path = tmp_path / "x" / "tree" / "order.npy"
    order = np.load(path)
    np.save(path, order[::-1])
    made = json.loads((tmp_path / "x" / "index.json").read_text())
    made["files"] = {k: v for k, v in files_of(tmp_path / "x").items() if k != "index.json"}
    (tmp_path / "x" / "index.json").write_text(json.dumps(made))
    with pytest.raises(ProcessingError, match=r"damaged: tree/order\.npy"):
        verify(tmp_path / "x")


def test_float16(tmp_path: Path) -> None:
    index = opened(DOCUMENTS, tmp_path / "x", settings(dense_dtype="float16"))
    assert index.trees.tree(0).vectors.dtype == np.float16
    verify(tmp_path / "x")


def test_stats_and_settings(tmp_path: Path) -> None:
    made = settings("attention", "size-weighted")
    index = opened(DOCUMENTS, tmp_path / "x", made)
    told = {row["what"]: row["value"] for row in stats(index).rows}
    tree = index.manifest.tree
    assert tree and told["trees"].startswith(f"{len(index.trees)} of {tree['nodes']} nodes over")
    assert told["trees"].endswith("at most 1 sentences; attention, size-weighted")
    assert told["format"].startswith("3, by grasp")
    assert Manifest.read(tmp_path / "x").settings == made
