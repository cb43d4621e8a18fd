"""An index described in words and numbers, for `grasp index --stats`."""

from __future__ import annotations

from typing import Any

from grasp_cli.report.tables import Column, Table
from grasp_cli.retrieval.store import Index, Manifest

COLUMNS = (Column("what", "index", "text"), Column("value", "value", "text"))
_HASH_SHOWN = 16  # of a hash's 64 digits


def stats(index: Index) -> Table:
    """A table of two columns; numbers are those of index.json, nothing else is read."""
    manifest = index.manifest
    size = sum(known["bytes"] for known in manifest.files.values())
    values = {
        "directory": index.directory,
        "format": f"{manifest.version}, by grasp {manifest.grasp}",
        "content": manifest.content[:_HASH_SHOWN],
        "documents": manifest.documents,
        "without text": manifest.empty,
        "passages": manifest.passages,
        "passage length": _passages(manifest),
        "titles": "searched" if manifest.index_title else "not searched",
        "profile": manifest.profile,
        "encoder": f"{manifest.model['name']}, {manifest.model['dtype']}",
        "encoder SHA-256": manifest.model["sha256"][:_HASH_SHOWN],
        "vectors": f"{manifest.model['dimension']} x {manifest.vectors['dtype']}",
        "vector search": _vector_search(manifest.ann),
        "BM25": "{method}, k1 {k1}, b {b}".format(**manifest.bm25),
        "words": manifest.bm25["words"],
        "stop words": manifest.tokenizer["stop_words"],
        "stemming": manifest.tokenizer["stem"],
        "trees": _trees(manifest.tree),
        "megabytes": f"{size / 1e6:.1f}",
    }
    return Table(COLUMNS, [{"what": key, "value": value} for key, value in values.items()])


def _passages(manifest: Manifest) -> str:
    if manifest.passage_words == 0:
        return "whole documents"
    overlap = manifest.passage_overlap
    return f"at most {manifest.passage_words} words" + (
        f", {overlap} sentences overlap" if overlap else ""
    )


def _trees(tree: dict[str, Any] | None) -> str:
    if tree is None:
        return "none"
    trained = ", trained weights" if tree["weights"] else ""
    return (
        f"{tree['documents']} of {tree['nodes']} nodes over {tree['chunks']} chunks of at most "
        f"{tree['chunk_sentences']} sentences; {tree['kind']}{trained}, {tree['merge']}"
    )


def _vector_search(ann: dict[str, Any] | None) -> str:
    if ann is None:
        return "exact"
    if "kind" not in ann:
        return f"exact ({ann['asked']} from {ann['exact_below']} passages)"
    return f"{ann['kind']}, recall@{ann['recall']['k']} {ann['recall']['value']:.3f}"
