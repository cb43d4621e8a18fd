"""Retrieval quality on three public sets: sparse, dense and hybrid, with the default options.

The whole pipe is run as a user runs it: convert, index, retrieve, evaluate. Nothing was chosen on
these questions. `python -m tests.benchmarks.bench_retrieval_quality [DOCUMENTS]` prints tables
for the README; DOCUMENTS takes only so many of each corpus (gold ones first), which checks the
script in seconds and says nothing about quality.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.formats import load_format
from grasp_cli.pipe.sources import read_documents, read_records
from grasp_cli.report.tables import Column, Table, markdown

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
GRASP = [sys.executable, "-m", "grasp_cli.cli.main"]
MODES = ("sparse", "dense", "hybrid")
METRICS = {"ndcg@10": "nDCG@10", "recall@5": "R@5", "recall@20": "R@20"}
DEPTH = 20


@dataclass(frozen=True)
class Dataset:
    """A corpus and judged questions; `options` go to `grasp index`."""

    name: str
    folder: str
    options: tuple[str, ...] = ()


DATASETS = (
    Dataset("SciFact subset", "scifact_subset", ("--no-index-title",)),  # only gold has titles
    Dataset("NQ, BEIR form", "nq_beir_derived"),
    Dataset("2WikiMultiHopQA", "2wikimultihopqa"),
)


def benchmarks() -> list[dict[str, Any]]:
    """Means with their intervals, and what hybrid gains on the better of its parts."""
    entries = []
    for dataset in DATASETS:
        if not (DATA / dataset.folder).is_dir():
            print(f"{dataset.name}: ../shared/data/{dataset.folder} is not here", file=sys.stderr)
            continue
        rows, gains = measured(dataset)
        for row in rows:
            for key, heading in METRICS.items():
                interval = (row[f"{key}_low"], row[f"{key}_high"])
                entries.append(
                    entry(f"{dataset.name}, {row['label']}: {heading}", row[key], interval)
                )
        for part, (gain, interval) in gains.items():
            entries.append(entry(f"{dataset.name}: nDCG@10, hybrid - {part}", gain, interval))
    return entries


def measured(
    dataset: Dataset, documents: int | None = None
) -> tuple[list[dict[str, Any]], dict[str, tuple[float, tuple[float, float]]]]:
    """A row per mode, and the mean paired difference of hybrid to each part in nDCG@10."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        corpus, questions = prepared(dataset, folder, documents)
        grasp(folder, "index", str(corpus), "-x", "index", *dataset.options)
        for mode in MODES:
            options = ("-x", "index", "--mode", mode, "-k", str(DEPTH), "-o", f"{mode}.jsonl")
            grasp(folder, "retrieve", str(questions), *options)
        files = [f"{mode}.jsonl" for mode in MODES]
        rows = json.loads(grasp(folder, "evaluate", "--retrieval", "--format", "json", *files))
        scores = {mode: scored(folder, mode) for mode in MODES}
    gains = {}
    for part in MODES[:-1]:
        pairs = zip(scores["hybrid"], scores[part], strict=True)
        differences = [ours - theirs for ours, theirs in pairs]
        gains[part] = (sum(differences) / len(differences), mean_interval(differences))
    return rows, gains


def scored(folder: Path, mode: str) -> list[float]:
    """nDCG@10 of each question."""
    output = f"{mode}.scored.jsonl"
    grasp(folder, "evaluate", "--retrieval", f"{mode}.jsonl", "-o", output)
    records = map(json.loads, (folder / output).read_text().splitlines())
    return [record["scores"]["ndcg@10"] for record in records]


def prepared(dataset: Dataset, folder: Path, limit: int | None) -> tuple[Path, Path]:
    """Files of documents and of questions, perhaps only some of them."""
    source = DATA / dataset.folder
    if (source / "qrels").is_dir():
        form = load_format("beir")
        questions = list(form.records(source))
        documents = list(form.corpus(source) or ())
    else:
        questions = list(read_records(sorted(source.glob("*gold_titles.jsonl"))))
        documents = list(read_documents(sorted(source.glob("*corpus*.jsonl"))))
    if limit:
        questions = questions[: limit // 10]
        names = {piece["id"] for record in questions for piece in record.get("evidence_gold", ())}
        names |= {title for record in questions for title in record.get("gold_titles", ())}
        documents.sort(key=lambda document: not names & {document["id"], document.get("title")})
        documents = documents[:limit]
    paths = folder / "documents.jsonl", folder / "questions.jsonl"
    for path, items in zip(paths, (documents, questions), strict=True):
        path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return paths


def grasp(folder: Path, *arguments: str) -> str:
    """What a command writes; one that fails ends the benchmark with its message."""
    done = subprocess.run([*GRASP, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"grasp {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def entry(name: str, value: float, interval: tuple[float, float]) -> dict[str, Any]:
    low, high = (round(100 * end, 1) for end in interval)
    unit = f"% [{low}, {high}]"
    return {
        "name": name,
        "value": round(100 * value, 1),
        "unit": unit,
        "target": None,
        "holds": None,
    }


def main(arguments: Sequence[str]) -> None:
    """Tables in Markdown."""
    limit = int(arguments[0]) if arguments else None
    columns = [
        Column("set", "", "text"),
        Column("label", "search", "text"),
        Column("n", "n", "count"),
        *(Column(key, heading, "share", interval=True) for key, heading in METRICS.items()),
    ]
    for dataset in DATASETS:
        rows, gains = measured(dataset, limit)
        print(markdown(Table(columns, [{"set": dataset.name, **row} for row in rows])))
        for part, (gain, (low, high)) in gains.items():
            print(
                f"nDCG@10, hybrid - {part}: {100 * gain:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
            )
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
