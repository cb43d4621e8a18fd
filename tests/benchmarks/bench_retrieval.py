"""BM25 beside rank-bm25, opening an index, a million passages, the encoder beside its bare model.

Corpora are made by a generator: words by Zipf's law, vectors at random. `GRASP_BENCH_PASSAGES`
sets the size of the large one (a million takes some minutes; less is quick and holds the same
promises). Times are CPU times, so that a busy machine changes little; ratios are of one run.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import RETRIEVE
from grasp_cli.retrieval.retriever import Retriever
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.sparse import SparseBuilder, SparseIndex
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tokens import Tokenizer
from grasp_cli.retrieval.writer import build

ROOT = Path(__file__).resolve().parents[2]
LARGE = int(os.environ.get("GRASP_BENCH_PASSAGES", "1000000"))
SMALL = min(100_000, LARGE // 2)
MIDDLE = min(50_000, LARGE)  # of BM25 and of opening
WORDS, MEAN_LENGTH, DIMENSION = 200_000, 100, 384
QUESTIONS, K = 64, RETRIEVE.depth
GIBIBYTE = 1 << 30

Entry = dict[str, Any]


def benchmarks() -> list[Entry]:
    return [*bm25(), *opening(), *scale(), *encoding()]


class Generator:
    """Texts and vectors without end, the same for a seed."""

    dimension = DIMENSION

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        frequencies = 1 / np.arange(1, WORDS + 1)
        self._sums = np.cumsum(frequencies) / frequencies.sum()
        self._names = np.array([f"w{number}" for number in range(WORDS)], dtype=object)

    def texts(self, count: int, length: int = MEAN_LENGTH) -> Iterator[str]:
        """Texts of some words, half as many to half as many more as `length`."""
        while count > 0:
            lengths = self._chance.integers(length // 2, length * 3 // 2 + 1, min(count, 1000))
            words = np.searchsorted(self._sums, self._chance.random(int(lengths.sum())))
            for group in np.split(self._names[words], np.cumsum(lengths)[:-1]):
                yield " ".join(group)
            count -= len(lengths)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of length one, in place of an encoder's."""
        vectors = self._chance.standard_normal((len(texts), DIMENSION), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bm25() -> list[Entry]:
    """Questions per second beside rank-bm25: the same words, the same k."""
    from rank_bm25 import BM25Okapi

    texts = list(Generator(1).texts(MIDDLE))
    questions = list(Generator(2).texts(QUESTIONS, 10))
    with tempfile.TemporaryDirectory() as place:
        builder = SparseBuilder(Path(place) / "bm25", Tokenizer(), "okapi")
        started = time.process_time()
        builder.add(texts)
        builder.save()
        built = time.process_time() - started
        order = np.arange(MIDDLE, dtype=np.uint32)
        index = SparseIndex(
            Path(place) / "bm25", builder.words, MIDDLE, Tokenizer(), order, "okapi"
        )
        index.search(questions[0], K)
        started = time.process_time()
        for question in questions:
            index.search(question, K)
        ours = (time.process_time() - started) / QUESTIONS
    other = BM25Okapi([text.split() for text in texts])
    asked = questions[: QUESTIONS // 8]
    started = time.process_time()
    for question in asked:
        other.get_top_n(question.split(), range(MIDDLE), n=K)
    theirs = (time.process_time() - started) / len(asked)
    name = f"BM25, {MIDDLE} passages"
    return [
        figure(f"{name}: questions/s over rank-bm25's", theirs / ours, "times", least=30),
        figure(f"{name}: one question", 1e3 * ours, "ms"),
        figure(f"{name}: building, per thousand", 1e6 * built / MIDDLE, "ms"),
    ]


OPEN = """
import sys, time
import bm25s, faiss
from pathlib import Path
from grasp_cli.retrieval.ann import AnnIndex
from grasp_cli.retrieval.store import Index
started = time.perf_counter()
index = Index(Path(sys.argv[1]))
index.sparse, index.dense, index.context(0, {})
sys.stdout.write(str(time.perf_counter() - started))
"""


def opening() -> list[Entry]:
    """All parts of an index and a first passage, libraries loaded, encoder aside."""
    with tempfile.TemporaryDirectory() as place:
        made = _build(Path(place) / "x", MIDDLE)
        command = [sys.executable, "-c", OPEN, str(made.directory)]
        seconds = [
            float(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
            for _ in range(5)
        ]
    name = f"opening an index of {MIDDLE} passages"
    return [figure(name, statistics.median(seconds), "s", most=0.1)]


def scale() -> list[Entry]:
    """Building and searching a tenth and the whole, each in a process of its own."""
    small, large = (_in_own_process(size) for size in (SMALL, LARGE))
    entries = []
    for size, found in ((SMALL, small), (LARGE, large)):
        name = f"{size} passages"
        entries += [
            figure(f"{name}: building, CPU per thousand", 1e6 * found["build"] / size, "ms"),
            figure(f"{name}: building, wall clock", found["wall"], "s"),
            figure(f"{name}: index, per passage", found["bytes"] / size, "bytes"),
            figure(f"{name}: a hybrid question", 1e3 * found["search"], "ms"),
        ]
    growth = large["build"] / LARGE / (small["build"] / SMALL)
    return [
        *entries,
        figure(
            f"{LARGE} passages: cost per passage over that of {SMALL}", growth, "times", most=1.3
        ),
        figure(f"{LARGE} passages: most memory", large["memory"] / GIBIBYTE, "GiB", most=6),
    ]


def encoding() -> list[Entry]:
    """Tokens per second of `Encoder.embed` over those of the bare model on the same batches."""
    from grasp_cli.models.batches import batches
    from grasp_cli.models.dtype import choose_dtype
    from grasp_cli.models.encoder import _BATCH_TOKENS, Encoder
    from grasp_cli.models.locate import find
    from grasp_cli.models.runtime import torch_runtime

    torch = torch_runtime()
    dtype = str(choose_dtype("auto", "cpu")).removeprefix("torch.")
    encoder = Encoder(find("all-MiniLM-L6-v2"), dtype=dtype)
    texts = _passages()
    ids = [found.ids for found in encoder.tokenizer.encode_batch_fast(texts)]
    inputs = []
    for length, members in batches([len(i) for i in ids], _BATCH_TOKENS):
        rows = torch.zeros((len(members), length), dtype=torch.long)
        for row, number in enumerate(members):
            rows[row, : len(ids[number])] = torch.tensor(ids[number])
        inputs.append((rows, (rows != 0).long()))

    def bare() -> None:
        with torch.inference_mode():
            for rows, mask in inputs:
                encoder._model(input_ids=rows, attention_mask=mask)

    seconds: dict[str, list[float]] = {"bare": [], "whole": []}
    bare()
    for _ in range(3):
        for name, work in (("bare", bare), ("whole", lambda: encoder.embed(texts))):
            started = time.process_time()
            work()
            seconds[name].append(time.process_time() - started)
    least = {name: min(found) for name, found in seconds.items()}
    tokens = sum(map(len, ids))
    return [
        figure("encoding over the bare model", least["bare"] / least["whole"], "share", least=0.8),
        figure(f"encoding in {dtype}, CPU time", tokens / least["whole"], "tokens/s"),
    ]


def figure(
    name: str, value: float, unit: str, *, least: float | None = None, most: float | None = None
) -> Entry:
    holds = None
    if least is not None or most is not None:
        holds = (least is None or value >= least) and (most is None or value <= most)
    target = least if least is not None else most
    return {"name": name, "value": round(value, 4), "unit": unit, "target": target, "holds": holds}


def _build(directory: Path, size: int) -> Index:
    texts, generator = Generator(3).texts(size), Generator(4)
    documents = ({"id": f"d{number}", "text": text} for number, text in enumerate(texts))
    build(documents, directory, Settings("generator", "0", passage_words=0), generator)
    return Index(directory)


def _in_own_process(size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.bench_retrieval", str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(size: int) -> dict[str, float]:
    """CPU seconds of building, of one question, and the most memory of this process."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        wall, started = time.perf_counter(), time.process_time()
        index = _build(Path(place) / "x", size)
        built, wall = time.process_time() - started, time.perf_counter() - wall
        generator = Generator(5)
        stage = Retriever(index, lambda: generator)
        questions = [{"id": q, "question": q} for q in Generator(6).texts(QUESTIONS, 10)]
        list(stage.process(questions[:1]))
        started = time.process_time()
        found = list(stage.process(questions))
        searched = (time.process_time() - started) / QUESTIONS
        assert all(len(outcome["contexts"]) == RETRIEVE.top_k for outcome in found)
        size_on_disk = sum(known["bytes"] for known in index.manifest.files.values())
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = kibibytes * (1 if sys.platform == "darwin" else 1024)
    return {
        "build": built,
        "wall": wall,
        "search": searched,
        "memory": memory,
        "bytes": size_on_disk,
    }


def _passages() -> list[str]:
    """Distinct texts of many lengths, as documents are cut."""
    from grasp_cli.retrieval.passages import cut

    with open(ROOT / "sample_data" / "documents.jsonl", encoding="utf-8") as stream:
        documents = [json.loads(line) for line in stream]
    texts = [p.text for most in (20, 40, 80, 150) for d in documents for p in cut(d, most)]
    return list(dict.fromkeys(texts))[:600]


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
