"""How much of the gold evidence was kept, by character offsets into the documents.

A piece of gold evidence is a sentence in most data. It counts by the share of its characters that
was kept, white space between kept texts included; a piece without offsets, a whole document, by 0
or 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import document_spans, parts
from grasp_cli.pipe.records import Record
from grasp_cli.text import segment

_ONE_SENTENCE = re.compile(r"[\w ,'()-]+[.!?]?")  # nothing in it could end another one
Spans = dict[str, list[tuple[int, int]]]  # document id -> spans in its text


@dataclass(frozen=True)
class Recall:
    """Of `total` pieces of gold evidence, how much is in the contexts and how much was kept.

    `whole` counts the pieces that were kept from end to end.
    """

    kept: float
    present: float
    total: int
    whole: int = 0

    def scores(self) -> dict[str, float]:
        """Recall over all gold, and over the gold that is present, where any is."""
        scores = {
            "evidence_recall": self.kept / self.total,
            "citation": float(self.kept > 0),
            "all_gold": float(self.whole == self.total),
        }
        if self.present:
            scores["evidence_recall_present"] = self.kept / self.present
        return scores


NOTHING_KEPT = dict.fromkeys(
    ("evidence_recall", "evidence_precision", "evidence_f1", "citation", "all_gold"), 0.0
)
NAMES = (*NOTHING_KEPT, "evidence_recall_present")


def evidence_scores(record: Record, *, failed: bool = False) -> dict[str, float]:
    """Recall, precision and F1 of a record's evidence; none where there is nothing to compare."""
    gold = record.get("evidence_gold") or []
    found = recall(record, gold, failed=failed)
    if found is None:
        return {}
    scores = found.scores()
    precise = 0.0 if failed else precision(record, gold)
    if precise is not None:
        both = precise + scores["evidence_recall"]
        scores["evidence_precision"] = precise
        scores["evidence_f1"] = 2 * precise * scores["evidence_recall"] / both if both else 0.0
    return scores


def recall(record: Record, gold: list[Record], *, failed: bool = False) -> Recall | None:
    """Recall of a record's evidence; None where there is no gold, or a text without offsets.

    Without `evidence` (nothing was compressed) all contexts count as kept, and in a failed record
    nothing does.
    """
    if not gold or (is_written(record) and not failed):
        return None
    contexts = record.get("contexts", [])
    there = _merged(
        span for context in contexts for span in document_spans(context, 0, len(context["text"]))
    )
    kept: Spans = {} if failed else _kept(record, there)
    where = f'record "{record["id"]}"'
    shares = [_covered(kept, piece, where) for piece in gold]
    return Recall(
        kept=sum(shares),
        present=sum(_covered(there, piece, where) for piece in gold),
        total=len(gold),
        whole=sum(share >= 1 for share in shares),
    )


def precision(record: Record, gold: list[Record]) -> float:
    """The share of the kept sentences that gold evidence touches; 0 where nothing was kept.

    Kept words of one sentence count as that sentence. `gold` is as `recall` has checked it.
    """
    sentences: dict[tuple[str, int], bool] = {}
    pieces = _gold_spans(gold)
    local: dict[str, list[tuple[float, float]]] = {}
    for context, key, start, end in _kept_sentences(record):
        name = context["id"]
        if name not in local:
            local[name] = list(_gold_within(context, pieces))
        hit = any(begin < end and start < stop for begin, stop in local[name])
        sentences[key] = sentences.get(key, False) or hit
    return sum(sentences.values()) / len(sentences) if sentences else 0.0


def all_contexts(record: Record) -> Record:
    """The record as it was before compression."""
    return {key: value for key, value in record.items() if key != "evidence"}


def is_written(record: Record) -> bool:
    """Whether a model wrote the context, so that nothing says what it kept."""
    said = record.get("compression")
    return "evidence" in record and isinstance(said, dict) and said.get("verbatim") is False


def _kept(record: Record, there: Spans) -> Spans:
    if "evidence" not in record:
        return there
    try:
        return _merged(span for run in _runs(record) for span in document_spans(*run))
    except (KeyError, TypeError) as error:
        raise DataError(
            f'record "{record["id"]}": "evidence" must be a list of objects with context (the id '
            f"of one of the contexts), start and end, as grasp compress writes it: {error!r}"
        ) from None


def _runs(record: Record) -> Iterator[tuple[Record, int, int]]:
    """Context, start and end of each evidence, up to the next one where white space parts them."""
    contexts = {context["id"]: context for context in record.get("contexts", [])}
    entries = [(contexts[e["context"]], e["start"], e["end"]) for e in record["evidence"]]
    for (context, start, end), (other, following, _) in pairwise([*entries, ({}, 0, 0)]):
        bridged = context is other and context["text"][end:following].isspace()
        yield context, start, following if bridged else end


def _kept_sentences(record: Record) -> Iterator[tuple[Record, tuple[str, int], int, int]]:
    """Context, a key of its own, start and end of each sentence of the evidence.

    Without `evidence` those of all contexts.
    """
    contexts = {context["id"]: context for context in record.get("contexts", [])}
    entries: Iterable[Any] = record.get("evidence", [])
    if "evidence" not in record:
        entries = [{"context": name, "start": 0, "end": None, "sentence": 0} for name in contexts]
    for entry in entries:
        context, shift = contexts[entry["context"]], entry["start"]
        first = entry.get("sentence", shift)
        text = context["text"][shift : entry["end"]]
        if _ONE_SENTENCE.fullmatch(text):
            yield context, (context["id"], first), shift, shift + len(text)
            continue
        for number, part in enumerate(segment(text)):
            key = (context["id"], first + number)
            yield context, key, shift + part.start, shift + part.end


def _gold_within(
    context: Record, pieces: dict[str, list[tuple[float, float]]]
) -> Iterator[tuple[float, float]]:
    """The gold evidence in a context, as spans of its text."""
    for part in parts(context):
        shift = part.start - part.offset
        for start, end in pieces.get(part.document, ()):
            first, last = max(start + shift, part.start), min(end + shift, part.end)
            if first < last:
                yield first, last


def _gold_spans(gold: Iterable[Record]) -> dict[str, list[tuple[float, float]]]:
    """The pieces of gold evidence by document; one without offsets is endless."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for piece in gold:
        start, end = piece.get("start"), piece.get("end")
        span = (0, float("inf")) if start is None or end is None else (start, end)
        spans.setdefault(piece["id"], []).append(span)
    return spans


def _merged(spans: Iterable[tuple[str, int, int]]) -> Spans:
    """Spans by document, sorted and disjoint; overlapping and touching ones become one."""
    merged: Spans = {}
    for document, start, end in sorted(spans):
        row = merged.setdefault(document, [])
        if row and start <= row[-1][1]:
            row[-1] = (row[-1][0], max(row[-1][1], end))
        else:
            row.append((start, end))
    return merged


def _covered(spans: Spans, piece: Record, where: str) -> float:
    """The share of one piece of gold evidence that the spans cover."""
    try:
        document, start, end = piece["id"], piece.get("start"), piece.get("end")
        row = spans.get(document, [])
        if start is None or end is None:
            return float(bool(row))
        shared = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in row)
        return float(shared / (end - start))
    except (KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise DataError(
            f'{where}: "evidence_gold" must be a list of {{id, start?, end?}} with start < end, '
            f"not {piece!r}"
        ) from None
