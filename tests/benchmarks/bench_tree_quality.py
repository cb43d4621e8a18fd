"""Information efficiency of trees, against flat chunks and sentences, on four public sets.

As SproutRAG measures it: of the first k chunks of two sentences that a search gives, the share that
touches gold evidence times the share of the gold evidence that they touch. Each set is one corpus
of all its documents, and everything in it is searched for every question; for the two sets of long
documents there is also the search in the question's own document alone.

The searches differ in one thing at a time. Trees and flat chunks have the same vectors (a chunk
read in its document); the flat search ranks the leaves of the tree. Flat sentences are the leaves
of trees whose chunks are single sentences. Chunks "read alone" are encoded one by one, as
passages of a flat index are. The encoder computes as `grasp index` has it by default (in bfloat16
where the processor multiplies that).

`GRASP_TREE_WEIGHTS="NAME=DIRECTORY …"` adds trees by trained weights (`grasp train sprout`); none
was trained on these files, and nothing was chosen on them.
`python -m tests.benchmarks.bench_tree_quality [RECORDS]` prints tables for the README and all
figures; RECORDS takes only so many of each set, which checks the script and says nothing about
quality.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.defaults import EVALUATE, INDEX, TREE
from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.evaluation.units import UnitEvaluation
from grasp_cli.formats import load_format
from grasp_cli.models.chunk_encoder import ChunkedText, ChunkEncoder, PooledWindow
from grasp_cli.models.chunk_pooling import aggregated, head_weights
from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.models.profiles import model_for
from grasp_cli.models.tree_weights import TreeWeights
from grasp_cli.pipe.records import Record
from grasp_cli.report.tables import Column, Table, markdown
from grasp_cli.retrieval.tree import files
from grasp_cli.retrieval.tree.assembling import copy_trees
from grasp_cli.retrieval.tree.building import TreeBuilder, WindowEncoder, unit
from grasp_cli.retrieval.tree.chunks import chunk
from grasp_cli.retrieval.tree.index import TreeIndex
from grasp_cli.retrieval.tree.nesting import without_nested
from grasp_cli.retrieval.tree.scoring import rounded_cosines
from grasp_cli.retrieval.tree.search import Candidates, TreeSearch
from grasp_cli.retrieval.tree.settings import TreeSettings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BASE = "embedding tree"  # what the others are compared with
DEPTH = max(EVALUATE.unit_cutoffs)
COMPARED = "ie@3"
THREADS = int(os.environ.get("GRASP_THREADS", "0")) or None

Row = dict[str, Any]
Pools = Sequence[Sequence[int]] | None  # the documents of each question; None: all
Planter = Callable[..., TreeIndex]  # kind of tree, encoder, sentences of a chunk


@dataclass(frozen=True)
class Dataset:
    """A file of questions with their documents.

    Parameters
    ----------
    long : a question has one document, and may be asked of that alone
    sample : take only so many of these documents, by chance; 0: all
    """

    name: str
    form: str
    path: str
    long: bool = False
    sample: int = 0


DATASETS = (
    Dataset("HotpotQA", "hotpotqa", "hotpotqa/dev.json"),
    Dataset("2WikiMultiHopQA", "hotpotqa", "2wikimultihopqa/dev.json"),
    Dataset("QASPER", "qasper", "qasper/papers.jsonl", long=True),
    Dataset("ContractNLI", "contract-nli", "contract_nli/contract_nli_dev.json", True, 20),
)


class EveryHead(ChunkEncoder):
    """A `ChunkEncoder` that keeps the attention of every head of the window it gave last."""

    last: Any = None  # shape (layers, heads, chunks, chunks)

    def _stack(self, layers: Any) -> Any:
        self.last = super()._stack(layers)
        return self.last


class Reading:
    """What one pass of an encoder gives for some texts, in place of a `ChunkEncoder` of these.

    Parameters
    ----------
    alpha : a number per layer and head; None counts all heads the same
    """

    def __init__(self, encoder: ChunkEncoder, texts: Sequence[ChunkedText]) -> None:
        self._encoder = encoder
        self.alpha: Any = None
        self._windows = [
            (number, window, getattr(encoder, "last", None))
            for number, window in encoder.windows(texts)
        ]

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._encoder.dimension

    def finish(self, vectors: Any) -> Any:
        """Mean states as the model's own vectors."""
        return self._encoder.finish(vectors)

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        """The windows of the texts that were read."""
        for number, window, heads in self._windows:
            if self.alpha is not None:
                relation = aggregated(heads, head_weights(self.alpha)).numpy()
                window = window._replace(relation=relation)
            yield number, window


class Alone:
    """An encoder of each chunk by itself, in place of a `ChunkEncoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dimension = encoder.dimension

    def finish(self, vectors: Any) -> Any:
        """They are finished."""
        return vectors

    def windows(self, texts: Sequence[ChunkedText]) -> Iterator[tuple[int, PooledWindow]]:
        """One window of all chunks per text; each is read after the title, as passages are."""
        pieces = [
            (f"{text.title}\n" if text.title else "") + text.text[start:end]
            for text in texts
            for start, end in text.chunks
        ]
        vectors, first = self._encoder.embed(pieces), 0
        for number, text in enumerate(texts):
            count = len(text.chunks)
            own = vectors[first : first + count]
            yield number, PooledWindow(0, count, [1] * count, own, None)
            first += count


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


@dataclass
class Corpus:
    """The questions of a set that have gold evidence, and its distinct documents."""

    records: list[Record]
    documents: list[Record] = field(default_factory=list)

    @classmethod
    def of(cls, dataset: Dataset, limit: int | None) -> Corpus:
        """All of a set, its sample, or what its first records have."""
        records = list(islice(load_format(dataset.form).records(DATA / dataset.path), limit))
        found = {context["id"]: context for record in records for context in record["contexts"]}
        if 0 < dataset.sample < len(found):
            chosen = random.Random(0).sample(sorted(found), dataset.sample)
            found = {name: found[name] for name in chosen}
            records = [record for record in records if record["contexts"][0]["id"] in found]
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


class Models:
    """The encoder of the embedded profile, in the number format of `grasp index`."""

    def __init__(self) -> None:
        self._path = find(model_for("embedded", "dense"))
        self._how: dict[str, Any] = {
            "threads": THREADS,
            "dtype": str(choose_dtype(INDEX.dtype, "cpu")).removeprefix("torch."),
        }

    def alone(self, weights: TreeWeights | None = None) -> Encoder:
        """For questions, and chunks that are read alone."""
        return Encoder(self._path, difference=weights, **self._how)

    def chunks(self) -> ChunkEncoder:
        """For chunks in their documents."""
        return ChunkEncoder(self._path, **self._how)

    def heads(self, weights: TreeWeights | None = None) -> EveryHead:
        """The same with the attention of each head."""
        return EveryHead(self._path, attention=True, weights=weights, **self._how)


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


def tables(name: str, where: str, rows: list[Row], full: bool) -> str:
    """In Markdown: what the README shows, or all figures."""
    shares = [(f"ie@{k}", f"IE@{k}") for k in EVALUATE.unit_cutoffs]
    if full:
        for k in EVALUATE.unit_cutoffs:
            shares += [
                (f"ie_of_means@{k}", f"IE of means@{k}"),
                (f"unit_recall@{k}", f"R@{k}"),
                (f"unit_precision@{k}", f"P@{k}"),
            ]
    else:
        shares += [("ie_of_means@3", "IE of means@3")]
        shares += [("unit_recall@3", "R@3"), ("unit_precision@3", "P@3")]
    shares.append(("gain", f"IE@3 - {BASE}'s"))
    columns = [
        Column("label", f"{name}, {where}", "text"),
        Column("n", "n", "count"),
        *(Column(key, heading, "share", interval=True) for key, heading in shares),
    ]
    return markdown(Table(columns, rows))


def main(arguments: Sequence[str]) -> None:
    """Tables in Markdown."""
    limit = int(arguments[0]) if arguments else None
    for dataset in DATASETS:
        for where, rows in measured(dataset, limit).items():
            for full in (False, True):
                print(tables(dataset.name, where, rows, full), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
