"""Evidence units among retrieved text, as SproutRAG measures them: chunks of up to two sentences.

Passages, sentences or nodes of trees are cut into chunks in the order in which they were retrieved
(those of one context in the order of the document), each chunk once. A chunk is relevant where it
touches gold evidence. Information efficiency is recall times precision of the first k chunks.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from grasp_cli.defaults import EVALUATE, SCORE_DECIMALS, TREE
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import DocumentSpan, parts
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.tree.chunks import chunk

_NO_GOLD = "records have no evidence_gold: left out"
_UNEXPECTED = "records are not among the questions of --gold: left out"


def units(contexts: Iterable[Record], sentences: int) -> Iterator[DocumentSpan]:
    """The chunks of contexts, as spans of documents, each once."""
    seen: set[DocumentSpan] = set()
    for context in contexts:
        for part in parts(context):
            for start, end in chunk(context["text"][part.start : part.end], sentences):
                found = DocumentSpan(part.document, part.offset + start, part.offset + end)
                if found not in seen:
                    seen.add(found)
                    yield found


def unit_scores(
    contexts: Iterable[Record],
    gold: Sequence[Record],
    cutoffs: Sequence[int] = EVALUATE.unit_cutoffs,
    sentences: int = TREE.chunk_sentences,
) -> dict[str, float]:
    """Recall, precision, F1 and information efficiency at each cutoff, 0 to 1.

    Precision is out of k, however few there are. `gold` is a record's `evidence_gold`, not empty.
    """
    first = list(islice(units(contexts, sentences), max(cutoffs, default=0)))
    scores: dict[str, float] = {}
    for k in cutoffs:
        hits = [[_touches(unit, piece) for piece in gold] for unit in first[:k]]
        recall = sum(map(any, zip(*hits, strict=True))) / len(gold)
        precision = sum(map(any, hits)) / k
        both = recall + precision
        scores |= {
            f"unit_recall@{k}": recall,
            f"unit_precision@{k}": precision,
            f"unit_f1@{k}": 2 * recall * precision / both if both else 0.0,
            f"ie@{k}": recall * precision,
        }
    return scores


class UnitEvaluation:
    """Scores records one by one and keeps only their values.

    The questions of `gold` (evidence by id) are expected, or those of the file; an expected
    question without results has 0.
    """

    def __init__(
        self,
        label: str,
        *,
        gold: Mapping[str, Sequence[Record]] | None = None,
        cutoffs: Sequence[int] = EVALUATE.unit_cutoffs,
    ) -> None:
        self.notes: Counter[str] = Counter()
        self._label = label
        self._gold = gold
        self._cutoffs = cutoffs
        self._waiting = {key: pieces for key, pieces in (gold or {}).items() if pieces}
        self._names = list(unit_scores([], [{"id": ""}], cutoffs))
        self._values = array("d")  # a row of all metrics per question
        self._counts = {"n": 0, "failed": 0, "missing": 0}

    def add(self, record: Record) -> Record:
        """Score a record; returns it with `scores`, or untouched where it failed or is left out."""
        gold = self._gold_of(record)
        if not gold:
            return record
        self._waiting.pop(record["id"], None)
        failed = "error" in record
        scores = self._count([] if failed else record.get("contexts") or [], gold, failed)
        if failed:
            return record
        return {**record, "scores": {name: _rounded(value) for name, value in scores.items()}}

    def finish(self) -> None:
        """Count the expected questions that never came."""
        for gold in self._waiting.values():
            self._count([], gold, False)
        self._waiting.clear()

    def row(self) -> dict[str, Any]:
        """Label, counts, and each metric's mean with the ends of its bootstrap interval."""
        from grasp_cli.evaluation.statistics import mean_intervals, product_interval

        row: dict[str, Any] = {"label": self._label, **self._counts}
        count, width = self._counts["n"], len(self._names)
        if not count:
            return row | dict.fromkeys(self._names)
        columns = {name: self._values[place::width] for place, name in enumerate(self._names)}
        means = {name: sum(column) / count for name, column in columns.items()}
        ends = mean_intervals(list(zip(*columns.values(), strict=True))).tolist()
        found = [(name, means[name], *end) for name, end in zip(self._names, ends, strict=True)]
        for k in self._cutoffs:
            both = f"unit_recall@{k}", f"unit_precision@{k}"
            interval = product_interval(*(columns[name] for name in both))
            found.append((f"ie_of_means@{k}", means[both[0]] * means[both[1]], *interval))
        for name, *values in found:
            keys = (name, f"{name}_low", f"{name}_high")
            row |= dict(zip(keys, map(_rounded, values), strict=True))
        return row

    def _gold_of(self, record: Record) -> Sequence[Record] | None:
        key = record["id"]
        if self._gold is not None and key not in self._gold:
            self.notes[_UNEXPECTED] += 1
            return None
        gold = record.get("evidence_gold") or (self._gold or {}).get(key)
        self.notes[_NO_GOLD] += not gold
        return _checked(gold, key) if gold else None

    def _count(
        self, contexts: Sequence[Record], gold: Sequence[Record], failed: bool
    ) -> dict[str, float]:
        scores = unit_scores(contexts, gold, self._cutoffs)
        self._values.extend(scores.values())
        self._counts["n"] += 1
        self._counts["failed"] += failed
        self._counts["missing"] += not contexts and not failed
        return scores


def _touches(unit: DocumentSpan, piece: Record) -> bool:
    if unit.document != piece["id"]:
        return False
    start, end = piece.get("start"), piece.get("end")
    return start is None or end is None or (unit.start < end and start < unit.end)


def _checked(gold: Any, key: str) -> Sequence[Record]:
    for piece in gold if isinstance(gold, list) else [gold]:
        if not isinstance(piece, dict) or not isinstance(piece.get("id"), str):
            raise DataError(
                f'record "{key}": "evidence_gold" must be a list of {{id, start?, end?}}, not '
                f"{piece!r}"
            )
    found: Sequence[Record] = gold
    return found


def _rounded(value: float) -> float:
    return round(value, SCORE_DECIMALS)
