"""The tree files of an index from those of what it is made of."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from grasp_cli.pipe import json_lines
from grasp_cli.retrieval.ids import free_mark, order_of
from grasp_cli.retrieval.tree import files
from grasp_cli.retrieval.tree.files import GrowingFiles, node_starts

MARK = "@"  # between a document's id and a node's number


def copy_trees(
    directory: Path,
    sources: Sequence[tuple[GrowingFiles, AbstractSet[str]]],
    passages: Sequence[str],
) -> dict[str, Any]:
    """Write `tree/` to the index `directory`; what index.json says of it.

    Parameters
    ----------
    sources : trees to take over, all but those of the documents in the set
    passages : the document of each passage of the index, in order
    """
    (directory / files.TREE).mkdir()
    ids, counts, lines = list[str](), array("I"), array("Q", [0])
    streams = {name: open(directory / name, "wb") for name in files.GROWING}  # noqa: SIM115
    try:
        for source, gone in sources:
            for document, line in _kept(source, gone, ids):
                counts.append(int(source.counts[document]))
                lines.append(lines[-1] + len(line))
                streams[files.DOCUMENTS].write(line)
                _copy(source, document, streams)
        streams[files.COUNTS].write(np.array(counts, "<u4").tobytes())
    finally:
        for stream in streams.values():
            stream.close()
    mark = free_mark(MARK, ids, {name: 2 * n - 1 for name, n in zip(ids, counts, strict=True)})
    starts, nodes = node_starts(np.array(counts, np.uint32))
    place = {name: number for number, name in enumerate(ids)}
    np.save(directory / files.LINES, np.array(lines, np.uint64))
    np.save(directory / files.STARTS, starts)
    np.save(directory / files.NODES, nodes)
    np.save(directory / files.ORDER, order_of([(name, None) for name in ids], "#"))
    of_passages = np.array([place[name] for name in passages], np.uint32)
    np.save(directory / files.PASSAGE_DOCUMENTS, of_passages)
    _copy_weights(directory, sources)
    return {
        "documents": len(ids),
        "chunks": int(starts[-1]),
        "nodes": int(nodes[-1]),
        "node_mark": mark,
    }


def _kept(
    source: GrowingFiles, gone: AbstractSet[str], ids: list[str]
) -> Iterator[tuple[int, bytes]]:
    """The place and the line of each document that stays; its id is appended to `ids`."""
    with open(source.directory / files.DOCUMENTS, "rb") as stream:
        for document, line in enumerate(stream):
            name = json_lines.loads(line, files.DOCUMENTS)["id"]
            if name not in gone:
                ids.append(name)
                yield document, line


def _copy(source: GrowingFiles, document: int, streams: Mapping[str, BinaryIO]) -> None:
    first, last = int(source.starts[document]), int(source.starts[document + 1])
    node, end = int(source.nodes[document]), int(source.nodes[document + 1])
    merges = slice(node - first, end - last)
    streams[files.CHUNKS].write(source.chunks[first:last].tobytes())
    streams[files.MERGES].write(source.merges[merges].tobytes())
    streams[files.STRENGTHS].write(source.strengths[merges].tobytes())
    streams[files.VECTORS].write(source.vectors[node:end].tobytes())


def _copy_weights(
    directory: Path, sources: Sequence[tuple[GrowingFiles, AbstractSet[str]]]
) -> None:
    """The trained weights, from the first of the sources that has them."""
    for source, _ in sources:
        if (source.directory / files.WEIGHTS).is_dir():
            shutil.copytree(source.directory / files.WEIGHTS, directory / files.WEIGHTS)
            return
