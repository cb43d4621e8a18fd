"""A record's explanation as lines for a terminal, or as plain text for a file or a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grasp_cli.pipe.records import Record
from grasp_cli.report.canvas import drawn
from grasp_cli.report.explained import Document, Explained, Piece, explained, visible
from grasp_cli.report.facts import facts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

LEGEND = (
    "+ kept  - dropped  ~ kept in part  * gold evidence; coarse: the coarse filter's score, "
    "unit: the evidence unit and its score"
)
_MARKS = {True: "+", False: "-"}
_SHADES = ("grey50", "steel_blue", "dark_cyan", "green3", "bold yellow3")
_NARROW = 60  # columns; below, the text stands under its scores


def for_terminal(record: Record, width: int, *, styled: bool) -> str:
    """The question, what is known of it, and every document with its sentences.

    Parameters
    ----------
    width : columns of the output
    styled : whether colours and dimming may be used; the marks say the same without them
    """
    from rich.text import Text

    seen = explained(record)

    def draw(console: Console) -> None:
        console.print(Text(f"{record['id']}  {visible(record['question'])}", style="bold"))
        for name, value in facts(record):
            console.print(Text.assemble((f"  {name}: ", "cyan"), visible(value)))
        for document in seen.documents:
            console.print()
            console.print(Text(_heading(document), style="bold underline"))
            console.print(_sentences(seen, document, width))

    return drawn(draw, width, styled=styled)


def _heading(document: Document) -> str:
    title = visible(document.title) or visible(document.id)
    name = f" ({visible(document.id)})" if document.title else ""
    gold = " *" if document.gold else ""
    return f"{title}{name}{gold}: {document.kept} of {len(document.pieces)} kept"


def _sentences(seen: Explained, document: Document, width: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    if width < _NARROW:
        for piece in document.pieces:
            said = " ".join(text for text, _ in _columns(seen, piece) if text)
            grid.add_row(Text(said, style=_style(piece)))
            grid.add_row(_text(document, piece))
        return grid
    for least in (2, 10, 4, 8):  # so that the columns of all documents stand in line
        grid.add_column(no_wrap=True, min_width=least, justify="left" if least != 4 else "right")
    grid.add_column(ratio=1, overflow="fold")
    for piece in document.pieces:
        grid.add_row(
            *(Text(text, style=style) for text, style in _columns(seen, piece)),
            _text(document, piece),
        )
    return grid


def _columns(seen: Explained, piece: Piece) -> list[tuple[str, str]]:
    """Mark, reason, coarse score, unit with its score; each with its style."""
    mark = "~" if piece.part else _MARKS[piece.kept]
    unit = "" if piece.unit is None else f"u{piece.unit}"
    score = "" if piece.score is None else f" {piece.score:.2f}"
    shade = seen.shade(piece)
    colour = "" if shade is None else _SHADES[min(int(shade * len(_SHADES)), len(_SHADES) - 1)]
    return [
        (mark + ("*" if piece.gold else ""), "bold green" if piece.kept else "dim"),
        (piece.why, _style(piece)),
        ("" if piece.coarse is None else f"{piece.coarse:.2f}", colour),
        (unit + score, _style(piece)),
    ]


def _text(document: Document, piece: Piece) -> Text:
    from rich.text import Text

    start, end = piece.shown
    dropped = "dim"
    return Text.assemble(
        (visible(document.text[piece.start : start]), dropped),
        (visible(document.text[start:end]), ""),
        (visible(document.text[end : piece.end]), dropped),
        overflow="fold",
    )


def _style(piece: Piece) -> str:
    return "" if piece.kept else "dim"
