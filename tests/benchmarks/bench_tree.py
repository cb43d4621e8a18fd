"""Trees over chunks: how fast they are built, pooled and searched, and what a long text takes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.models.chunk_pooling import pooled_attention
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.retrieval.tree.linkage import Dense, single_linkage
from tests.retrieval.tree import naive

CHUNKS, MOST = 500, 4000
NAIVE_TIMES, POOLING_TIMES = 100.0, 50.0
DOCUMENTS, EACH, WIDTH, MILLISECONDS = 1000, 50, 384, 50.0
QUESTIONS = 40
WORDS, GIBIBYTES = 100_000, 2.0


def benchmarks() -> list[dict[str, Any]]:
    """Building, pooling, searching, and the memory of one long document."""
    return [*building(), pooling(), searching(), *long_document()]


def building() -> list[dict[str, Any]]:
    """Merges of 500 chunks against the plain steps, and how time grows from there to 4,000."""
    small, large = matrix(CHUNKS), matrix(MOST)
    fast = seconds(lambda: single_linkage(Dense(small)), 5)
    plain = seconds(lambda: naive.merges(small), 1)
    big = seconds(lambda: single_linkage(Dense(large)), 3)
    growth = np.log(big / fast) / np.log(MOST / CHUNKS)
    return [
        entry(f"tree of {CHUNKS} chunks", fast * 1000, "ms", None),
        entry(f"tree of {CHUNKS} chunks, against O(n^3)", plain / fast, "times", NAIVE_TIMES),
        entry(f"tree of {MOST} chunks", big * 1000, "ms", None),
        entry(f"growth from {CHUNKS} to {MOST} chunks", float(growth), "exponent", -2.0),
    ]


def matrix(count: int) -> Any:
    """Symmetric, as attention and cosines are; a tenth of its values are tied."""
    chance = np.random.default_rng(count)
    found = chance.random((count, count)).astype(np.float32)
    found = np.where(chance.random((count, count)) < 0.1, found.round(2), found)
    return np.maximum(found, found.T)


def pooling() -> dict[str, Any]:
    """The attention of one window, six layers of twelve heads, against plain loops over two."""
    torch = torch_runtime()
    attention = torch.softmax(torch.randn(6, 12, 256, 256), -1)
    bounds = list(range(1, 256, 17))
    fast = seconds(lambda: pooled_attention(attention, bounds), 5)
    heads = attention[0, :2].numpy()
    plain = seconds(lambda: [naive.attention(head.tolist(), bounds) for head in heads], 1) * 36
    return entry("pooling of attention, against loops", plain / fast, "times", POOLING_TIMES)


def searching() -> dict[str, Any]:
    """All of a thousand trees of fifty chunks for one question, without encoding it."""
    from grasp_cli.retrieval.store import Index
    from grasp_cli.retrieval.tree.building import unit
    from grasp_cli.retrieval.tree.retriever import TreeOptions, TreeRetriever

    class Random:
        """In place of an encoder."""

        dimension = WIDTH

        def embed(self, texts: Any) -> Any:
            chance = np.random.default_rng(len(texts[0]))
            return unit(chance.standard_normal((len(texts), WIDTH)).astype(np.float32))

    with tempfile.TemporaryDirectory() as place:
        forest(Path(place) / "x", Random())
        index = Index(Path(place) / "x")
        stage = TreeRetriever(index, Random, options=TreeOptions(documents=0))
        ask = [{"id": "q", "question": "a" * (n + 1)} for n in range(QUESTIONS)]
        list(stage.process(ask[:2]))
        times = [seconds(lambda r=record: list(stage.process([r])), 1) for record in ask]
    value = statistics.median(times) * 1000
    return entry(f"search of {DOCUMENTS} trees of {EACH} chunks", value, "ms", -MILLISECONDS)


def forest(directory: Path, encoder: Any) -> None:
    """An index of documents whose chunks have random vectors that resemble their neighbours'."""
    from grasp_cli.models.chunk_encoder import PooledWindow
    from grasp_cli.retrieval.tree.building import TreeBuilder, unit
    from grasp_cli.retrieval.tree.settings import TreeSettings
    from grasp_cli.retrieval.writer import Settings, build

    class Windows:
        """In place of a `ChunkEncoder`."""

        dimension = WIDTH

        def windows(self, texts: Any) -> Any:
            for number, text in enumerate(texts):
                chance = np.random.default_rng(len(text.text) + number)
                steps = chance.standard_normal((len(text.chunks), WIDTH)).astype(np.float32)
                vectors = unit(np.cumsum(steps, axis=0) * 0.3 + steps)
                yield number, PooledWindow(0, len(vectors), [1] * len(vectors), vectors, None)

        def finish(self, vectors: Any) -> Any:
            return vectors

    settings = Settings("random", "0", passage_words=0, tree=TreeSettings(chunk_sentences=1))
    text = " ".join(f"Sentence {n} is here." for n in range(EACH))
    documents = ({"id": f"d{n}", "text": text} for n in range(DOCUMENTS))
    assert settings.tree is not None
    trees = TreeBuilder(settings.tree, Windows(), titles=False)
    build(documents, directory, settings, encoder, trees=trees)


_LONG = """
import resource, sys
from grasp_cli.models.locate import find
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.tree.models import tree_builder
from grasp_cli.retrieval.tree.settings import TreeSettings
from tests.benchmarks.bench_splitting import prose
kind, words = sys.argv[1], int(sys.argv[2])
settings = Settings("m", "0", tree=TreeSettings(kind))
builder = tree_builder(find("all-MiniLM-L6-v2"), settings)
list(builder.build([{"text": "Ice came. It froze."}]))
with open("/proc/self/statm") as file:
    before = int(file.read().split()[1]) * resource.getpagesize()
text = " ".join(prose().split()[:words])
(tree,) = builder.build([{"text": text}])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
sys.stdout.write(str((peak - before) / 2**30))
"""


def long_document() -> list[dict[str, Any]]:
    """Memory that a tree of 100,000 words takes beyond the model, in a process of its own."""
    if sys.platform != "linux":
        return []
    entries = []
    for kind in ("embedding", "attention"):
        command = [sys.executable, "-c", _LONG, kind, str(WORDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        name = f"tree by {kind} of {WORDS:,} words"
        entries.append(entry(name, float(done.stdout), "GiB", -GIBIBYTES))
    return entries


def seconds(work: Callable[[], Any], runs: int) -> float:
    """The least CPU time of some runs: what else the machine does does not count."""
    times = []
    for _ in range(runs):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def entry(name: str, value: float, unit: str, target: float | None) -> dict[str, Any]:
    """A figure; a negative target is the most that it may be, a positive one the least."""
    holds = None
    if target is not None:
        holds = value <= -target if target < 0 else value >= target
        target = abs(target)
    return {"name": name, "value": round(value, 3), "unit": unit, "target": target, "holds": holds}
