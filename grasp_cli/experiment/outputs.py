"""The numbers of an experiment as CSV: a row per cell, and a file per method with its questions."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.evaluation.answers import FUNCTIONS
from grasp_cli.evaluation.scoring import score
from grasp_cli.experiment.folder import Folder, write_whole
from grasp_cli.experiment.runner import Cell
from grasp_cli.pipe.records import Record, trace_of
from grasp_cli.pipe.sources import read_records

RESULTS = "final_benchmark_results.csv"
_MEANS = (*FUNCTIONS, "removed", "seconds", "evidence_recall")
COLUMNS = ("dataset", "method", *_MEANS, "n", "failed")
DETAILS = (
    "dataset", "id", "question", "answers", "answer", *_MEANS,
    "tokens_in", "tokens_out", "seconds_compress", "seconds_answer", "error",
)  # fmt: skip
_SECONDS = ("seconds_compress", "seconds_answer")


def write_outputs(folder: Folder, cells: Sequence[Cell], *, answered: bool) -> None:
    """Write `final_benchmark_results.csv` and `details_<method>.csv`.

    Shares run from 0 to 1, and what is not known is empty. `seconds` are those of compression and
    answer together. A record that failed counts as 0, as in `grasp evaluate`.
    """
    rows, details = [], dict[str, list[dict[str, Any]]]()
    for cell in cells:
        found = [detail(record, answered) for record in read_records([folder.cell(*cell)])]
        named = {"dataset": cell.dataset.name}
        rows.append({**named, "method": cell.method.name, **_means(found)})
        details.setdefault(cell.method.name, []).extend({**named, **each} for each in found)
    _write(folder.root / RESULTS, COLUMNS, rows)
    for method, entries in details.items():
        _write(folder.root / f"details_{method}.csv", DETAILS, entries)


def detail(record: Record, answered: bool) -> dict[str, Any]:
    """The values of one record; without a reader there is no answer to score."""
    scored = score(record)
    values = dict(scored.values)
    if not answered:
        values = {name: value for name, value in values.items() if name not in FUNCTIONS}
    spent = [values[name] for name in _SECONDS if name in values]
    return {
        "id": record["id"],
        "question": record["question"],
        "answers": " | ".join(map(str, record.get("answers") or [])),
        "answer": record.get("answer"),
        **values,
        **({"seconds": sum(spent)} if spent else {}),
        **_tokens(trace_of(record, "compression")),
        "error": (record.get("error") or {}).get("message"),
    }


def _tokens(compression: Mapping[str, Any]) -> dict[str, Any]:
    return {name: compression.get(name) for name in ("tokens_in", "tokens_out")}


def _means(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    means = {name: _mean(each.get(name) for each in details) for name in _MEANS}
    return {
        **means,
        "n": len(details),
        "failed": sum(each["error"] is not None for each in details),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), SCORE_DECIMALS) if known else None


def _write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rounded(rows))
    write_whole(path, text.getvalue().encode())


def _rounded(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            key: round(value, SCORE_DECIMALS) if isinstance(value, float) else value
            for key, value in row.items()
        }
