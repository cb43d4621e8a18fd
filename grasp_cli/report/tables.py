"""Tables of numbers, for a terminal, a file or mail, or a program.

A number is never cut and a cell never wraps: a table too wide for its place is turned, so that
its rows become columns, and then written at the width it needs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grasp_cli.pipe import json_lines

PLAIN_WIDTH = 80
_BLANK = "-"
_DECIMALS = {"tokens": 0, "rate": 1}
Grid = list[list[str]]


@dataclass(frozen=True)
class Column:
    """A key of the rows, its heading, and the unit of its values (as metrics have, or text).

    With `interval`, the rows also hold the ends of an interval around the value, under `key_low`
    and `key_high`.
    """

    key: str
    heading: str
    unit: str
    interval: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys of the rows that belong to the column."""
        return (self.key, f"{self.key}_low", f"{self.key}_high")[: 3 if self.interval else 1]


@dataclass(frozen=True)
class Table:
    """Rows of values by column; None is a value that is not known."""

    columns: Sequence[Column]
    rows: Sequence[dict[str, Any]]

    def known(self) -> Table:
        """Without the columns of which no value is known."""
        known = [c for c in self.columns if any(row.get(c.key) is not None for row in self.rows)]
        return replace(self, columns=known)


def cell(value: Any, unit: str) -> str:
    """A value as people read it; shares in percent with one decimal."""
    if value is None:
        return _BLANK
    if unit == "share":
        return f"{100 * value:.1f}"
    if unit == "seconds":
        return f"{value:.2f}" if value >= 1 else f"{value:.3f}"
    if unit in _DECIMALS:
        return f"{value:.{_DECIMALS[unit]}f}"
    return str(value)


def grid(table: Table) -> Grid:
    """Headings and cells, one list per line; the columns of shares say %."""
    known = table.known()
    return [
        [_heading(column) for column in known.columns],
        *([_entry(row, column) for column in known.columns] for row in known.rows),
    ]


def fitting(cells: Grid, width: int, border: int = 0) -> Grid:
    """The grid, or where it is too wide the turned one if that is narrower."""
    turned = [list(line) for line in zip(*cells, strict=True)]
    wide = _natural_width(cells, border) > width
    return (
        turned if wide and _natural_width(turned, border) < _natural_width(cells, border) else cells
    )


def plain(table: Table) -> str:
    """Aligned columns in ASCII (labels aside), for a file or mail."""
    cells = fitting(grid(table), PLAIN_WIDTH)
    widths = _widths(cells)
    lines = [
        "  ".join(
            _padded(text, width, right=position > 0)
            for position, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def markdown(table: Table) -> str:
    """A table for Markdown, numbers to the right."""
    cells = [[text.replace("|", "\\|") for text in line] for line in grid(table)]
    rule = ["---", *("---:" for _ in cells[0][1:])]
    return "".join(f"| {' | '.join(line)} |\n" for line in (cells[0], rule, *cells[1:]))


def comma_separated(table: Table, delimiter: str = ",") -> str:
    """CSV with all columns by key; shares from 0 to 1, what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, _keys(table), extrasaction="ignore", delimiter=delimiter, lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(table.rows)
    return text.getvalue()


def tab_separated(table: Table) -> str:
    """As `comma_separated`, with tabs."""
    return comma_separated(table, "\t")


def json_array(table: Table) -> str:
    """One array, an object per row; shares from 0 to 1, what is not known is null."""
    return "[" + ",\n ".join(_objects(table)) + "]\n"


def json_rows(table: Table) -> str:
    """One object per line."""
    return "".join(f"{line}\n" for line in _objects(table))


def for_terminal(table: Table, width: int) -> str:
    """The table drawn by rich, with its colours, for a terminal of `width` columns."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    cells = fitting(grid(table), width, border=1)
    drawing = Drawing(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, heading in enumerate(cells[0]):
        drawing.add_column(Text(heading), justify="right" if position else "left", no_wrap=True)
    for line in cells[1:]:
        drawing.add_row(*map(Text, line))
    text = io.StringIO()
    needed = max(width, _natural_width(cells, 1) + 2)
    Console(file=text, force_terminal=True, width=needed).print(drawing, crop=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n") + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "table": plain,
    "json": json_array,
    "jsonl": json_rows,
    "csv": comma_separated,
    "tsv": tab_separated,
    "md": markdown,
}
PROGRAMS = ("json", "jsonl", "csv", "tsv")  # formats with every column, shares from 0 to 1


def _heading(column: Column) -> str:
    unit = " %" if column.unit == "share" else ""
    return f"{column.heading}{unit}{' [95 %]' if column.interval else ''}"


def _entry(row: dict[str, Any], column: Column) -> str:
    """The cell of a row, with its interval in brackets where there is one."""
    value, *ends = (cell(row.get(key), column.unit) for key in column.keys)
    known = _BLANK not in (value, *ends)
    return f"{value} [{', '.join(ends)}]" if ends and known else value


def _keys(table: Table) -> list[str]:
    return [key for column in table.columns for key in column.keys]


def _objects(table: Table) -> list[str]:
    keys = _keys(table)
    return [json_lines.dumps({key: row.get(key) for key in keys}).decode() for row in table.rows]


def _widths(cells: Grid) -> list[int]:
    return [max(map(_cell_width, column)) for column in zip(*cells, strict=True)]


def _natural_width(cells: Grid, border: int) -> int:
    widths = _widths(cells)
    return sum(widths) + (2 + border) * (len(widths) - 1)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _cell_width(text))
    return space + text if right else text + space


def _cell_width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
