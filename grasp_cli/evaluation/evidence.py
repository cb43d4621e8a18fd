"""How much of the gold evidence was kept, by character offsets into the documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import document_spans
from grasp_cli.pipe.records import Record

Spans = dict[str, list[tuple[int, int]]]  # document id -> spans in its text


@dataclass(frozen=True)
class Recall:
    """Of `total` pieces of gold evidence, how much is in the contexts and how much was kept.

    A piece with offsets counts by the share of its characters, a whole document by 0 or 1.
    """

    kept: float
    present: float
    total: int

    def scores(self) -> dict[str, float]:
        """Recall over all gold, and over the gold that is present, where any is."""
        scores = {"evidence_recall": self.kept / self.total}
        if self.present:
            scores["evidence_recall_present"] = self.kept / self.present
        return scores


def recall(record: Record, gold: list[Record], *, failed: bool = False) -> Recall | None:
    """Recall of a record's evidence; None where there is no gold, or a text without offsets.

    Without `evidence` (nothing was compressed) all contexts count as kept, and in a failed record
    nothing does.
    """
    if not gold or (_is_written(record) and not failed):
        return None
    contexts = record.get("contexts", [])
    there = _merged(
        span for context in contexts for span in document_spans(context, 0, len(context["text"]))
    )
    kept: Spans = {} if failed else _kept(record, there)
    where = f'record "{record["id"]}"'
    return Recall(
        kept=sum(_covered(kept, piece, where) for piece in gold),
        present=sum(_covered(there, piece, where) for piece in gold),
        total=len(gold),
    )


def all_contexts(record: Record) -> Record:
    """The record as it was before compression."""
    return {key: value for key, value in record.items() if key != "evidence"}


def _is_written(record: Record) -> bool:
    """Whether a model wrote the context, so that nothing says what it kept."""
    said = record.get("compression")
    return "evidence" in record and isinstance(said, dict) and said.get("verbatim") is False


def _kept(record: Record, there: Spans) -> Spans:
    if "evidence" not in record:
        return there
    contexts = {context["id"]: context for context in record.get("contexts", [])}
    try:
        return _merged(
            span
            for entry in record["evidence"]
            for span in document_spans(contexts[entry["context"]], entry["start"], entry["end"])
        )
    except (KeyError, TypeError) as error:
        raise DataError(
            f'record "{record["id"]}": "evidence" must be a list of objects with context (the id '
            f"of one of the contexts), start and end, as grasp compress writes it: {error!r}"
        ) from None


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
