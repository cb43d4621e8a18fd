"""Information efficiency of trees, against flat chunks and sentences, on four public sets.

As SproutRAG measures it: of the first k chunks of two sentences that a search gives, the share that
touches gold evidence times the share of the gold evidence that they touch. Each set is one corpus
of all its documents, and everything in it is searched for every question; for the two sets of long
documents there is also the search in the question's own document alone.

The searches differ in one thing at a time. Trees and flat chunks have the same vectors (a chunk
read in its document); the flat search ranks the leaves of the tree. Flat sentences are the leaves
of trees whose chunks are single sentences. Chunks "read alone" are encoded one by one, as
passages of a flat index are. The encoder computes in the number format that `grasp index` has by
default (bfloat16 where the processor multiplies that). Trees by embedding are made of the pass that
also gives attention, to have the same vectors as the others; `grasp index --tree embedding` reads
without, and in bfloat16 its vectors differ in the last bits, which can turn a merge.

`GRASP_TREE_WEIGHTS="NAME=DIRECTORY …"` adds trees by trained weights (`grasp train sprout`); none
was trained on these files, and nothing was chosen on them.
`python -m tests.benchmarks.bench_tree_quality [RECORDS]` prints all figures, and
the table of the README; RECORDS takes only so many of each set, which checks the script in a
minute and says nothing about quality.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.defaults import EVALUATE, TREE
from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.evaluation.units import UnitEvaluation
from grasp_cli.models.tree_weights import TreeWeights
from grasp_cli.pipe.records import Record
from grasp_cli.report.tables import Column, Table, markdown
from grasp_cli.retrieval.tree.building import unit
from grasp_cli.retrieval.tree.index import TreeIndex
from grasp_cli.retrieval.tree.nesting import without_nested
from grasp_cli.retrieval.tree.scoring import rounded_cosines
from grasp_cli.retrieval.tree.search import Candidates, TreeSearch
from tests.benchmarks.tree_corpus import DATA, DATASETS, Corpus, Dataset, Planter, planter
from tests.benchmarks.tree_readings import Alone, Models, Reading

BASE = "embedding tree"  # what the others are compared with
DEPTH = max(EVALUATE.unit_cutoffs)
COMPARED = "ie@3"

Row = dict[str, Any]
Pools = Sequence[Sequence[int]] | None  # the documents of each question; None: all


@dataclass
class Method:
    """A search to be measured: its trees, whether only leaves are ranked, and the questions."""

    label: str
    trees: TreeIndex
    questions: Any  # shape (questions, d), of length one
    flat: bool = False

    def search(self, pools: Pools) -> Sequence[Candidates]:
        """The candidates of each question."""
        if self.flat:
            return leaves(self.trees, self.questions, pools)
        search = TreeSearch(self.trees, beam=TREE.beam)
        if pools is None:
            return search.everywhere(self.questions)
        return search.within(self.questions, pools)


def benchmarks() -> list[dict[str, Any]]:
    """Information efficiency at 3 of each search, and the difference to the embedding tree."""
    entries = []
    for dataset in DATASETS:
        if not (DATA / dataset.path).is_file():
            print(f"{dataset.name}: ../shared/data/{dataset.path} is not here", file=sys.stderr)
            continue
        for where, rows in measured(dataset).items():
            for row in rows:
                name = f"{dataset.name}, {where}, {row['label']}: {COMPARED}"
                entries.append(entry(name, row, COMPARED))
                if row["label"] != BASE:
                    entries.append(entry(f"{name} - {BASE}'s", row, "gain"))
    return entries


def entry(name: str, row: Row, key: str) -> dict[str, Any]:
    low, high = (round(100 * row[f"{key}_{end}"], 1) for end in ("low", "high"))
    value = round(100 * row[key], 1)
    return {
        "name": name,
        "value": value,
        "unit": f"% [{low}, {high}]",
        "target": None,
        "holds": None,
    }


def measured(dataset: Dataset, limit: int | None = None) -> dict[str, list[Row]]:
    """A row per search: in the whole corpus, and for long documents in the own one."""
    corpus = Corpus.of(dataset, limit)
    places: dict[str, Pools] = {"all documents": None}
    if dataset.long:
        places["own document"] = corpus.own()
    with tempfile.TemporaryDirectory() as folder:
        methods = list(searches(corpus, Path(folder)))
        return {where: compared(corpus, methods, pools) for where, pools in places.items()}


def searches(corpus: Corpus, folder: Path) -> Iterator[Method]:
    """What is measured, on indexes below `folder`."""
    models = Models()
    asked = unit(models.alone().embed(corpus.questions))
    planted = planter(corpus, folder)
    return chain(
        read_alone(models, asked, planted),
        of_sentences(models, asked, planted, corpus),
        of_trees(models, asked, planted, corpus),
    )


def read_alone(models: Models, asked: Any, planted: Planter) -> Iterator[Method]:
    """Chunks without their context, as a flat index has passages."""
    trees = planted("embedding", Alone(models.alone()))
    yield Method("flat chunks, read alone", trees, asked, flat=True)
    yield Method("embedding tree, read alone", trees, asked)


def of_sentences(models: Models, asked: Any, planted: Planter, corpus: Corpus) -> Iterator[Method]:
    """The leaves of trees over single sentences."""
    trees = planted("embedding", Reading(models.chunks(), corpus.texts(1)), 1)
    yield Method("flat sentences", trees, asked, flat=True)


def of_trees(models: Models, asked: Any, planted: Planter, corpus: Corpus) -> Iterator[Method]:
    """Chunks of the default size: flat, and in trees of every kind."""
    texts = corpus.texts(TREE.chunk_sentences)
    reading = Reading(models.heads(), texts)
    embedding = planted("embedding", reading)
    yield Method("flat chunks", embedding, asked, flat=True)
    yield Method(BASE, embedding, asked)
    yield Method("attention tree, untrained", planted("attention", reading), asked)
    for name, weights in trained().items():
        label = f"attention tree, trained: {name}"
        if not weights.tunes_encoder:
            reading.alpha = weights.alpha()
            yield Method(label, planted("attention", reading), asked)
            continue
        own = Reading(models.heads(weights), texts)
        theirs = unit(models.alone(weights).embed(corpus.questions))
        near = planted("embedding", own)
        yield Method(f"flat chunks, encoder of {name}", near, theirs, flat=True)
        yield Method(f"embedding tree, encoder of {name}", near, theirs)
        yield Method(label, planted("attention", own), theirs)


def trained() -> dict[str, TreeWeights]:
    """The weights that GRASP_TREE_WEIGHTS names."""
    given = os.environ.get("GRASP_TREE_WEIGHTS", "").split()
    pairs = (item.partition("=") for item in given)
    return {name: TreeWeights(Path(directory)) for name, _, directory in pairs}


def leaves(trees: TreeIndex, questions: Any, pools: Pools) -> list[Candidates]:
    """All chunks as candidates, or those of a question's documents."""
    starts = np.asarray(trees.starts, np.int64)
    documents = np.repeat(np.arange(len(trees)), np.diff(starts))
    nodes = np.arange(len(documents)) - starts[documents]
    places = np.asarray(trees.nodes, np.int64)[documents] + nodes
    scores = rounded_cosines(questions, trees.vectors[places]).astype(np.int64)
    found = []
    for number, row in enumerate(scores):
        some = np.arange(len(row))
        if pools is not None:
            some = np.flatnonzero(np.isin(documents, pools[number]))
        found.append(Candidates(documents[some], nodes[some], row[some], trees.order))
    return found


def compared(corpus: Corpus, methods: Sequence[Method], pools: Pools) -> list[Row]:
    """A row per method: means with intervals, and the paired difference to the embedding tree."""
    rows, values = [], {}
    for method in methods:
        evaluation, own = UnitEvaluation(method.label), []
        found = zip(corpus.records, method.search(pools), strict=True)
        for record, candidates in found:
            contexts = nodes(method.trees, candidates)
            scored = evaluation.add({**record, "contexts": contexts})
            own.append(scored["scores"][COMPARED])
        rows.append(evaluation.row())
        values[method.label] = np.array(own)
    for row in rows:
        gains = values[row["label"]] - values[BASE]
        low, high = mean_interval(gains)
        row |= {"gain": float(gains.mean()), "gain_low": low, "gain_high": high}
    return rows


def nodes(trees: TreeIndex, candidates: Candidates) -> list[Record]:
    """The best nodes as contexts, none of which holds another."""
    apart = without_nested(
        (node, node.document, trees.tree(node.document).spans(node.node)) for node in candidates
    )
    return [
        trees.context(node.document, node.node, {"score": node.score})
        for node in islice(apart, DEPTH)
    ]


def figures(name: str, rows: Sequence[Row]) -> str:
    """All figures of one set in Markdown."""
    shares = []
    for k in EVALUATE.unit_cutoffs:
        shares += [
            (f"ie@{k}", f"IE@{k}"),
            (f"ie_of_means@{k}", f"IE@{k} of means"),
            (f"unit_recall@{k}", f"recall@{k}"),
            (f"unit_precision@{k}", f"precision@{k}"),
        ]
    shares.append(("gain", f"IE@3 - {BASE}'s"))
    columns = [
        Column("label", name, "text"),
        Column("n", "n", "count"),
        *(Column(key, heading, "share", interval=True) for key, heading in shares),
    ]
    return markdown(Table(columns, rows))


def summary(found: dict[str, list[Row]]) -> str:
    """One figure of all sets in Markdown, as in the README."""
    columns, rows = [Column("label", "IE@3", "text")], dict[str, Row]()
    for name, measures in found.items():
        columns.append(Column(name, name, "share", interval=True))
        for row in measures:
            own = rows.setdefault(row["label"], {"label": row["label"]})
            own |= {name + end: row[COMPARED + end] for end in ("", "_low", "_high")}
    return markdown(Table(columns, list(rows.values())))


def main(arguments: Sequence[str]) -> None:
    """Tables in Markdown."""
    limit = int(arguments[0]) if arguments else None
    found = {}
    for dataset in DATASETS:
        for where, rows in measured(dataset, limit).items():
            name = f"{dataset.name}, {where}"
            found[name] = rows
            print(figures(name, rows), flush=True)
    print(summary(found))


if __name__ == "__main__":
    main(sys.argv[1:])
