"""Explanations as one self-contained HTML page: no script, nothing from the network.

A sentence is shaded by its coarse score, a unit has an outline with its number, and what the
selection dropped is dimmed. Scores and reason appear when a sentence is hovered, tapped or reached
with the keyboard; the switch at the top writes them into the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from grasp_cli.pipe.records import Record, trace_of
from grasp_cli.report.explain_style import LEGEND, STYLE
from grasp_cli.report.explained import MEANINGS, Document, Explained, Piece, explained, visible
from grasp_cli.report.facts import facts

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
"""
_SHAPES = {"code": " block", "table": " block", "list": " list"}


def page(records: Sequence[Record]) -> Iterator[str]:
    """The page in parts, to be written one after the other.

    Raises
    ------
    DataError
        A record's explanation does not fit its contexts.
    """
    title = records[0]["question"] if len(records) == 1 else f"{len(records)} questions"
    yield f"{HEAD}<title>{_text(title)} – grasp explain</title>"
    yield f"<style>{STYLE}</style>\n</head>\n<body>"
    yield LEGEND.format(meanings=_rows(MEANINGS.items()))
    if len(records) > 1:
        yield _index(records)
    yield "<main>"
    for number, record in enumerate(records):
        yield _section(number, explained(record))
    yield "</main>\n</body>\n</html>"


def _index(records: Sequence[Record]) -> str:
    entries = "\n".join(
        f'<li><span><a href="#r{number}">{_own(record["question"])}</a> '
        f"<small>{_text(_removed(record))}</small></span></li>"
        for number, record in enumerate(records)
    )
    return f'<nav aria-label="Questions"><ol>\n{entries}\n</ol></nav>'


def _removed(record: Record) -> str:
    removed = trace_of(record, "compression").get("removed")
    return f"{removed:.0%} removed" if isinstance(removed, (int, float)) else ""


def _section(number: int, seen: Explained) -> str:
    record = seen.record
    documents = "\n".join(_document(seen, document) for document in seen.documents)
    return (
        f'<section id="r{number}">\n<p class="id">{_own(record["id"])}</p>\n'
        f"<h2>{_own(record['question'])}</h2>\n{_bar(record)}"
        f"<dl>\n{_rows(facts(record))}\n</dl>\n{documents}\n</section>"
    )


def _rows(named: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"<div><dt>{_text(name)}</dt><dd>{_own(value)}</dd></div>" for name, value in named
    )


def _bar(record: Record) -> str:
    """How much of the tokens is left, drawn; the numbers stand below it."""
    trace = trace_of(record, "compression")
    before, after = trace.get("tokens_in"), trace.get("tokens_out")
    if not isinstance(before, int) or not isinstance(after, int) or before <= 0:
        return ""
    return (
        f'<div class="bar" role="img" aria-label="{after} of {before} tokens kept">'
        f'<i style="width:{100 * min(after / before, 1):.1f}%"></i></div>\n'
    )


def _document(seen: Explained, document: Document) -> str:
    title = document.title or document.id
    name = f" <small>{_own(document.id)}</small>" if document.title else ""
    gold = ' <b class="gold">★ gold</b>' if document.gold else ""
    count = f"<small>{document.kept} of {len(document.pieces)} kept</small>"
    paragraphs = "\n".join(
        f'<p dir="auto">{"".join(_units(seen, document, places))}</p>'
        for places in _paragraphs(document)
    )
    return (
        f"<details open><summary><h3>{_own(title)}</h3>{name}{gold} {count}</summary>\n"
        f"{paragraphs}\n</details>"
    )


def _paragraphs(document: Document) -> Iterator[list[int]]:
    """Numbers of the pieces of each paragraph."""
    places: list[int] = []
    for place in range(len(document.pieces)):
        if places and document.opens_paragraph(place):
            yield places
            places = []
        places.append(place)
    if places:
        yield places


def _units(seen: Explained, document: Document, places: Iterable[int]) -> Iterator[str]:
    """The pieces of a paragraph, those of one unit that stand together in one outline."""
    for unit, members in groupby(places, lambda place: document.pieces[place].unit):
        pieces = [document.pieces[place] for place in members]
        inside = " ".join(_sentence(seen, document, piece) for piece in pieces)
        if unit is None:
            yield f"{inside} "
        else:
            kept = " kept" if any(piece.kept for piece in pieces) else ""
            yield f'<span class="unit{kept}"><sup dir="ltr">u{unit}</sup>{inside}</span> '


def _sentence(seen: Explained, document: Document, piece: Piece) -> str:
    start, end = piece.shown
    text = document.text
    shade = seen.shade(piece)
    style = "" if shade is None else f' style="--c:{shade:.2f}"'
    block = _SHAPES.get(piece.kind, "")
    gold = '<b class="gold">★</b>' if piece.gold else ""
    state = f"{piece.why if piece.why in MEANINGS else ''}{' in' if piece.kept else ''}"
    return (
        f'<span class="s {state}{block}" tabindex="0"{style}>'
        f"{gold}{_dropped(text[piece.start : start])}{_text(text[start:end])}"
        f"{_dropped(text[end : piece.end])}"
        f'<span class="why" dir="ltr"> {_text(_reason(piece))}</span></span>'
    )


def _reason(piece: Piece) -> str:
    """Everything known of a piece, in a few words."""
    state = "kept" if piece.kept else "dropped"
    said = [state if piece.why in (state, "whole") else f"{state}: {piece.why}"]
    if piece.part:
        said.append("in part")
    if piece.coarse is not None:
        said.append(f"coarse {piece.coarse:.2f}")
    if piece.unit is not None:
        score = "" if piece.score is None else f" {piece.score:.2f}"
        said.append(f"unit u{piece.unit}{score}")
    if piece.gold:
        said.append("gold evidence")
    return " · ".join(said)


def _dropped(text: str) -> str:
    return f'<span class="out">{_text(text)}</span>' if text else ""


def _text(text: str) -> str:
    return escape(visible(text))


def _own(text: str) -> str:
    """Text from the data, whose reading direction is its own."""
    return f"<bdi>{_text(text)}</bdi>"
