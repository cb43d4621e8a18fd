"""The numbers of a cell from its JSONL alone, by other means than the project's.

Nothing of `grasp_cli` is imported: SQuAD's normalisation and F1 as its script has them, recall by
sets of characters. `python -m tests.experiment.recompute CELL.jsonl` prints them.
"""

from __future__ import annotations

import collections
import json
import re
import string
import sys
from pathlib import Path
from typing import Any


def normalised(text: str) -> list[str]:
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def exact(gold: str, answer: str) -> float:
    return float(normalised(gold) == normalised(answer))


def f1(gold: str, answer: str) -> float:
    wanted, given = normalised(gold), normalised(answer)
    if wanted != given and (wanted in (["yes"], ["no"]) or given in (["yes"], ["no"])):
        return 0.0
    same = sum((collections.Counter(wanted) & collections.Counter(given)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(given), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best(metric: Any, record: dict[str, Any]) -> float:
    """The best over the gold answers; a gold yes or no is right where the answer begins so."""
    if "error" in record or "answer" not in record:
        return 0.0
    first = normalised(record["answer"])[:1]
    if any(first == normalised(gold) and gold in ("yes", "no") for gold in record["answers"]):
        return 1.0
    return max(metric(gold, record["answer"]) for gold in record["answers"])


def removed(record: dict[str, Any]) -> float:
    said = record["compression"]
    return 1 - said["tokens_out"] / said["tokens_in"]


def recall(record: dict[str, Any]) -> float | None:
    """The mean over gold pieces of the share of their characters that was kept.

    White space between two kept texts is kept, too.
    """
    kept = set()
    for context in record["contexts"]:
        places = set()
        for entry in record["evidence"]:
            if entry["context"] == context["id"]:
                places |= set(range(entry["start"], entry["end"]))
        for space in re.finditer(r"\s+", context["text"]):
            if {space.start() - 1, space.end()} <= places:
                places |= set(range(space.start(), space.end()))
        document, first = context.get("doc_id", context["id"]), context.get("start", 0)
        kept |= {(document, first + place) for place in places}
    shares = []
    for gold in record.get("evidence_gold", []):
        if "start" not in gold:
            shares.append(float(any(document == gold["id"] for document, _ in kept)))
            continue
        places = [(gold["id"], place) for place in range(gold["start"], gold["end"])]
        shares.append(sum(place in kept for place in places) / len(places))
    return sum(shares) / len(shares) if shares else None


def mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def numbers(path: Path) -> dict[str, Any]:
    """As in a row of final_benchmark_results.csv, for questions that have an answer."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        "em": mean([best(exact, record) for record in records]),
        "f1": mean([best(f1, record) for record in records]),
        "removed": mean([removed(record) for record in records]),
        "evidence_recall": mean([recall(record) for record in records]),
        "n": len(records),
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, json.dumps(numbers(Path(name))))
