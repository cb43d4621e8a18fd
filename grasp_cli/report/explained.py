"""A compressed record as what its explanation shows: documents cut into pieces.

With `explain` (from `grasp compress --explain`) a piece is a sentence; without it the pieces are
what `evidence` kept and what stands between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import local_spans
from grasp_cli.pipe.records import Record

MEANINGS = {
    "kept": "it is in the context",
    "fallback": "it is in the context, though nothing passed the threshold",
    "rescued": "its unit passed on a second hop",
    "coarse": "the coarse filter dropped it",
    "threshold": "its unit scored below the threshold",
    "redundancy": "its unit repeats a better one",
    "budget": "it did not fit the token budget",
    "overlap": "another passage of the document already shows it",
    "method": "the method left it out",
    "dropped": "not in the context; the record does not say why",
    "whole": "the record has not been compressed",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Piece(NamedTuple):
    """A stretch of a context's text that was kept or dropped."""

    start: int
    end: int
    kept: bool
    why: str  # a key of `MEANINGS`
    kind: str = "sentence"
    coarse: float | None = None
    unit: int | None = None
    score: float | None = None
    part: tuple[int, int] | None = None  # what of it was kept, where that is not all
    gold: bool = False

    @property
    def shown(self) -> tuple[int, int]:
        """Offsets of what of it is in the context; empty where it was dropped."""
        if not self.kept:
            return self.end, self.end
        return self.part or (self.start, self.end)


@dataclass(frozen=True)
class Document:
    """One context and its pieces."""

    id: str
    title: str
    text: str
    pieces: list[Piece]
    gold: bool  # whether gold evidence names the document as a whole

    @property
    def kept(self) -> int:
        """How many pieces are in the context."""
        return sum(piece.kept for piece in self.pieces)

    def opens_paragraph(self, position: int) -> bool:
        """Whether a line break parts the piece from the one before."""
        before = self.pieces[position - 1].end if position else 0
        return position > 0 and "\n" in self.text[before : self.pieces[position].start]


@dataclass(frozen=True)
class Explained:
    """A record and its documents."""

    record: Record
    documents: list[Document]

    @property
    def coarse_range(self) -> tuple[float, float]:
        """The lowest and the highest coarse score of the record."""
        scores = [p.coarse for d in self.documents for p in d.pieces if p.coarse is not None]
        return (min(scores), max(scores)) if scores else (0.0, 0.0)

    def shade(self, piece: Piece) -> float | None:
        """The coarse score of a piece as a share of the record's range of them, 0 to 1."""
        if piece.coarse is None:
            return None
        low, high = self.coarse_range
        return (piece.coarse - low) / (high - low) if high > low else 0.5


def explained(record: Record) -> Explained:
    """Cut the contexts of a record into kept and dropped pieces.

    Raises
    ------
    DataError
        `explain`, `evidence` or `evidence_gold` do not fit the contexts.
    """
    try:
        pieces = _pieces(record)
        gold = list(record.get("evidence_gold") or [])
        documents = [
            _document(context, pieces[context["id"]], gold)
            for context in record.get("contexts", [])
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f'record "{record["id"]}": "explain", "evidence" or "evidence_gold" is not what '
            f"grasp compress --explain writes for these contexts: {error!r}"
        ) from None
    return Explained(record, documents)


def visible(text: str) -> str:
    """Text without characters that would steer a terminal or turn the reading direction."""
    return _CONTROL.sub(_symbol, text.replace("\r\n", "\n"))


def _pieces(record: Record) -> dict[str, list[Piece]]:
    if "explain" in record:
        return {
            entry["context"]: [_piece(sentence) for sentence in entry["sentences"]]
            for entry in record["explain"]
        }
    compressed = "evidence" in record
    kept: dict[str, list[Record]] = {c["id"]: [] for c in record.get("contexts", [])}
    for item in record.get("evidence", []):
        kept[item["context"]].append(item)
    return {
        context["id"]: list(_between(context["text"], kept[context["id"]], compressed))
        for context in record.get("contexts", [])
    }


def _piece(sentence: dict[str, Any]) -> Piece:
    known = {key: value for key, value in sentence.items() if key in Piece._fields}
    if known.get("part"):
        known["part"] = (int(known["part"][0]), int(known["part"][1]))
    return Piece(**known)


def _between(text: str, items: Iterable[Record], compressed: bool) -> Iterator[Piece]:
    """Pieces of a context without `explain`: evidence, and the rest of the text."""
    cursor, rest = 0, "dropped" if compressed else "whole"
    for item in sorted(items, key=lambda item: int(item["start"])):
        yield from _rest(text, cursor, item["start"], rest)
        yield Piece(
            item["start"], item["end"], True, "kept", unit=item.get("unit"), score=item.get("score")
        )
        cursor = item["end"]
    yield from _rest(text, cursor, len(text), rest)


def _rest(text: str, start: int, end: int, why: str) -> Iterator[Piece]:
    inside = text[start:end]
    if inside.strip():
        start, end = start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())
        yield Piece(start, end, why == "whole", why, kind="text")


def _document(context: Record, pieces: list[Piece], gold: list[Record]) -> Document:
    text = context["text"]
    cursor = 0
    for piece in pieces:
        start, end = piece.shown
        if not (cursor <= piece.start <= start <= end <= piece.end <= len(text)):
            raise ValueError(f"offsets {piece.start} to {piece.end} in context {context['id']}")
        cursor = piece.end
    name = context.get("doc_id") or context["id"]
    own = [item for item in gold if item["id"] == name]
    spans = [
        span
        for item in own
        if _placed(item)
        for span in local_spans(context, item["start"], item["end"])
    ]
    return Document(
        context["id"],
        context.get("title") or "",
        text,
        [
            piece._replace(
                gold=any(piece.start < end and start < piece.end for start, end in spans)
            )
            for piece in pieces
        ],
        gold=any(not _placed(item) for item in own),
    )


def _placed(item: Record) -> bool:
    return item.get("start") is not None and item.get("end") is not None


def _symbol(match: re.Match[str]) -> str:
    """The picture of a control character, or the replacement character."""
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
