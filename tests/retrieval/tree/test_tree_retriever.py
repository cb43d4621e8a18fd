"""Records in, nodes out: the stage behind --mode tree and hybrid+tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.provenance import parts
from grasp_cli.retrieval.rerank import Reranker
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree.nesting import distinct_contexts
from grasp_cli.retrieval.tree.retriever import TreeOptions, TreeRetriever
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.tree.planted import opened, settings, some_documents
from tests.retrieval.tree.test_search import QUESTIONS

DOCUMENTS = some_documents(40, seed=1)
TEXTS = {document["id"]: document["text"] for document in DOCUMENTS}
RECORDS = [{"id": f"q{n}", "question": q, "kept": n} for n, q in enumerate(QUESTIONS)]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return opened(DOCUMENTS, tmp_path / "x")


def retriever(index: Index, mode: str = "tree", top_k: int = 5, **options: Any) -> TreeRetriever:
    chosen = TreeOptions(**{"documents": 0, **options})
    return TreeRetriever(index, HashingEncoder, mode=mode, top_k=top_k, options=chosen)


def contexts(stage: Any, records: list[Any] = RECORDS) -> list[list[Any]]:
    return [record["contexts"] for record in stage.process(records)]


def spans(context: Any) -> set[int]:
    """The characters of its document that a context holds."""
    return {c for p in parts(context) for c in range(p.offset, p.offset + p.end - p.start)}


@pytest.mark.parametrize("mode", ["tree", "hybrid+tree"])
def test_contexts_are_slices_of_documents(index: Index, mode: str) -> None:
    for found in contexts(retriever(index, mode)):
        assert [context["rank"] for context in found] == [1, 2, 3, 4, 5]
        assert sorted(-c["score"] for c in found) == [-c["score"] for c in found]
        for context in found:
            document = TEXTS[context.get("doc_id") or context["id"]]
            for part in parts(context):
                length = part.end - part.start
                assert (
                    context["text"][part.start : part.end]
                    == (document[part.offset : part.offset + length])
                )


@pytest.mark.parametrize("mode", ["tree", "hybrid+tree"])
def test_nothing_nested_unless_asked_for(index: Index, mode: str) -> None:
    def nested(found: list[Any]) -> int:
        pairs = [(a, b) for a in found for b in found if a is not b]
        name = [(a.get("doc_id") or a["id"]) == (b.get("doc_id") or b["id"]) for a, b in pairs]
        return sum(same and spans(a) <= spans(b) for same, (a, b) in zip(name, pairs, strict=True))

    assert sum(map(nested, contexts(retriever(index, mode, 20)))) == 0
    kept = retriever(index, mode, 20, nested="keep")
    assert sum(map(nested, contexts(kept))) > 0


def test_the_best_node_of_all(index: Index) -> None:
    """What is dropped is dropped in the order of scores."""
    (kept,) = contexts(retriever(index, top_k=1000, nested="keep"), RECORDS[:1])
    (dropped,) = contexts(retriever(index, top_k=1000), RECORDS[:1])
    chosen: list[Any] = []
    for context in kept:
        own = [c for c in chosen if c["doc_id"] == context["doc_id"]]
        if not any(spans(c) <= spans(context) or spans(context) <= spans(c) for c in own):
            chosen.append(context)
    assert [context["id"] for context in chosen] == [context["id"] for context in dropped]


def test_records_alone_or_together(index: Index) -> None:
    together = contexts(retriever(index))
    assert [contexts(retriever(index), [record])[0] for record in RECORDS] == together


def test_blank_questions_and_other_keys(index: Index) -> None:
    blank = {"id": "b", "question": " "}
    first, error, second = retriever(index).process([RECORDS[0], blank, RECORDS[1]])
    assert error.kind == "EmptyQuestion"  # type: ignore[union-attr]
    assert first["kept"] == 0 and first["retrieval"]["mode"] == "tree"  # type: ignore[index]
    assert second["id"] == "q1"  # type: ignore[index]


@pytest.mark.parametrize("pool", ["flat", "roots"])
def test_a_pool_of_documents(index: Index, pool: str) -> None:
    for found in contexts(retriever(index, top_k=50, documents=3, pool=pool)):
        assert 1 <= len({context["doc_id"] for context in found}) <= 3
    everything = contexts(retriever(index, top_k=50))
    assert contexts(retriever(index, top_k=50, documents=99, pool=pool)) == everything


def test_the_flat_pool_is_that_of_the_best_passages(index: Index) -> None:
    from grasp_cli.retrieval.retriever import Retriever

    flat = Retriever(index, HashingEncoder, top_k=100)
    pooled = contexts(retriever(index, top_k=500, documents=4))
    for passages, found in zip(contexts(flat), pooled, strict=True):
        best = list(dict.fromkeys(c.get("doc_id") or c["id"] for c in passages))[:4]
        assert {context["doc_id"] for context in found} == set(best)


def test_fused_scores_are_sums_of_reciprocal_ranks(index: Index) -> None:
    for found in contexts(retriever(index, "hybrid+tree", 300, nested="keep")):
        assert any("node" in context for context in found)
        assert any("node" not in context for context in found)
        for context in found:
            ranks = [context.get(f"{name}_rank") for name in ("dense", "sparse", "tree")]
            assert context["score"] == round(sum(1 / (10 + r) for r in ranks if r), 4)
            assert ("tree_rank" in context) == ("node" in context)


def test_a_node_has_the_rank_of_a_passage_that_it_shares_text_with(index: Index) -> None:
    (found,) = contexts(retriever(index, "hybrid+tree", 2000, nested="keep"), RECORDS[:1])
    passages = [context for context in found if "node" not in context]
    for node in (context for context in found if "node" in context):
        own = [p for p in passages if (p.get("doc_id") or p["id"]) == node["doc_id"]]
        for name in ("dense_rank", "sparse_rank"):
            ranks = [p[name] for p in own if name in p and spans(p) & spans(node)]
            assert node.get(name) == min(ranks, default=None)


def test_an_index_without_a_document(tmp_path: Path) -> None:
    index = opened([], tmp_path / "empty")
    for mode in ("tree", "hybrid+tree"):
        assert contexts(retriever(index, mode)) == [[]] * len(RECORDS)


def test_an_encoder_of_its_own(index: Index) -> None:
    """Trees of a trained encoder are searched with its vectors, passages with the index's own."""

    class Other(HashingEncoder):
        def embed(self, texts: Any) -> Any:
            return -super().embed(texts)

    stage = TreeRetriever(index, HashingEncoder, Other, options=TreeOptions(documents=0))
    assert contexts(stage) != contexts(retriever(index))
    assert all(context["score"] > 0 for found in contexts(stage) for context in found)


class Longest:
    """In place of a cross-encoder: the shortest text is best."""

    name, max_length = "short", 512

    def load(self) -> None:
        pass

    def room(self, question: str) -> int:
        return 500

    def logits(self, pairs: Any) -> Any:
        return [-float(len(text)) for _, text in pairs]


def test_reranked_before_nested_ones_are_dropped(index: Index) -> None:
    first = retriever(index, top_k=30, nested="keep")
    stage = Reranker(first, Longest(), 5, choose=distinct_contexts)  # type: ignore[arg-type]
    for found, before in zip(contexts(stage), contexts(first), strict=True):
        assert [context["rank"] for context in found] == [1, 2, 3, 4, 5]
        shortest = min(before, key=lambda c: len(c.get("title", "")) + len(c["text"]))
        assert len(found[0]["text"]) <= len(shortest["text"]) + len("Title 16") + 1
        assert found == sorted(found, key=lambda c: -c["score"])


def test_trees_by_attention_and_weighted_vectors(tmp_path: Path) -> None:
    index = opened(DOCUMENTS, tmp_path / "x", settings("attention", "size-weighted"))
    assert all(len(found) == 5 for found in contexts(retriever(index)))
