"""Tables of numbers, for a terminal, a file or mail, or a program.

A number is never cut and a cell never wraps: a table too wide for its place is turned, so that
its rows become columns, and then written at the width it needs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import Any

from grasp_cli.pipe import json_lines
from grasp_cli.report.explained import visible

PLAIN_WIDTH = 80
_BLANK = "-"
_DECIMALS = {"tokens": 0, "rate": 1}
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}
Grid = list[list[str]]


class Best(str):
    """The cell of the best value among those it is compared with; formats that can, bold it."""


@dataclass(frozen=True)
class Column:
    """A key of the rows, its heading, and the unit of its values (as metrics have, or text).

    With `interval`, the rows also hold the ends of an interval around the value, under `key_low`
    and `key_high`. `best` says which value is to be marked as the best: "high", "low" or "".
    """

    key: str
    heading: str
    unit: str
    interval: bool = False
    best: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys of the rows that belong to the column."""
        return (self.key, f"{self.key}_low", f"{self.key}_high")[: 3 if self.interval else 1]


@dataclass(frozen=True)
class Table:
    """Rows of values by column; None is a value that is not known.

    Rows are compared with those that have the same value under the key `group`.
    """

    columns: Sequence[Column]
    rows: Sequence[dict[str, Any]]
    group: str = ""

    def best(self, column: Column) -> set[int]:
        """Numbers of the rows with the best value of a group that has several, as it is shown."""
        groups: dict[Any, list[int]] = {}
        for number, row in enumerate(self.rows):
            if column.best and row.get(column.key) is not None:
                groups.setdefault(row.get(self.group), []).append(number)
        found: set[int] = set()
        for numbers in groups.values():
            values = {number: self.rows[number][column.key] for number in numbers}
            chosen = (max if column.best == "high" else min)(values.values())
            shown = {n: cell(value, column.unit) for n, value in values.items()}
            if len(set(shown.values())) > 1:
                found |= {n for n in numbers if shown[n] == cell(chosen, column.unit)}
        return found

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
    best = [known.best(column) for column in known.columns]
    return [
        [_heading(column) for column in known.columns],
        *(
            [
                Best(_entry(row, column)) if number in best[place] else _entry(row, column)
                for place, column in enumerate(known.columns)
            ]
            for number, row in enumerate(known.rows)
        ),
    ]


def marked(text: str, escape: Callable[[str], str], before: str, after: str) -> str:
    """An escaped cell, its value (not its interval) between two marks where it is the best."""
    if not isinstance(text, Best):
        return escape(text)
    value, space, interval = text.partition(" ")
    return f"{before}{escape(value)}{after}{space}{escape(interval)}"


def fitting(cells: Grid, width: int, border: int = 0) -> Grid:
    """The grid, or where it is too wide the turned one if that is narrower."""
    turned = [list(line) for line in zip(*cells, strict=True)]
    wide = _natural_width(cells, border) > width
    return (
        turned if wide and _natural_width(turned, border) < _natural_width(cells, border) else cells
    )


def plain(table: Table) -> str:
    """Aligned columns in ASCII (labels aside), for a file or mail."""
    natural = grid(table)
    cells = fitting(natural, PLAIN_WIDTH)
    texts = _texts(table) if cells is natural else 1
    widths = _widths(cells)
    lines = [
        "  ".join(
            _padded(text, width, right=position >= texts)
            for position, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def markdown(table: Table) -> str:
    """A table for Markdown, numbers to the right."""
    cells = [[marked(text, _markdown_text, "**", "**") for text in line] for line in grid(table)]
    rule = ["---" if column.unit == "text" else "---:" for column in table.known().columns]
    return "".join(f"| {' | '.join(line)} |\n" for line in (cells[0], rule, *cells[1:]))


def latex(table: Table) -> str:
    """A tabular for LaTeX with the package booktabs; a rule between groups."""
    cells = [[marked(text, latex_text, r"\textbf{", "}") for text in line] for line in grid(table)]
    groups = [None, *(row.get(table.group) for row in table.rows)]
    texts = _texts(table)
    lines = [
        "% needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(cells[0]) - texts)}}}",
        r"\toprule",
    ]
    for number, line in enumerate(cells):
        if number == 1 or (number > 1 and groups[number] != groups[number - 1]):
            lines.append(r"\midrule")
        lines.append(f"{' & '.join(line)} \\\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex_text(text: str) -> str:
    """Text in which no character has a meaning of its own to LaTeX."""
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))


def html_table(table: Table) -> str:
    """A table element, a tbody for each group; intervals stand below their values."""
    columns = table.known().columns
    kinds = ["" if column.unit == "text" else ' class="num"' for column in columns]
    heading = [_html(_heading(replace(column, interval=False))) for column in columns]
    lines = [
        [_html_cell(text, column) for text, column in zip(row, columns, strict=True)]
        for row in grid(table)[1:]
    ]
    head = _html_row("th", heading, kinds, ' scope="col"')
    parts = [f"<thead>{head}</thead>"]
    for _, members in groupby(enumerate(lines), lambda line: table.rows[line[0]].get(table.group)):
        rows = "\n".join(_html_row("td", line, kinds) for _, line in members)
        parts.append(f"<tbody>\n{rows}\n</tbody>")
    return "<table>\n" + "\n".join(parts) + "\n</table>\n"


def html_page(table: Table) -> str:
    """The table alone as a page: no script, nothing from the network."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<title>grasp</title>\n<style>body { font: 16px/1.5 system-ui, sans-serif; } "
        "td, th { padding: .2rem .6rem; text-align: left; } .num { text-align: right; } "
        "small { display: block; }</style>\n"
        f"</head>\n<body>\n{html_table(table)}</body>\n</html>\n"
    )


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

    natural = grid(table)
    cells = fitting(natural, width, border=1)
    texts = _texts(table) if cells is natural else 1
    drawing = Drawing(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, heading in enumerate(cells[0]):
        drawing.add_column(
            Text(heading), justify="right" if position >= texts else "left", no_wrap=True
        )
    for line in cells[1:]:
        drawing.add_row(*(_styled(text) for text in line))
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
    "latex": latex,
    "html": html_page,
}
PROGRAMS = ("json", "jsonl", "csv", "tsv")  # formats with every column, shares from 0 to 1


def _texts(table: Table) -> int:
    """How many columns hold text; they come first."""
    return sum(column.unit == "text" for column in table.known().columns)


def _styled(text: str) -> Any:
    from rich.text import Text

    styled = Text(text)
    if isinstance(text, Best):
        styled.stylize("bold", 0, len(text.partition(" ")[0]))
    return styled


def _html(text: str) -> str:
    return escape(visible(text))


def _html_cell(text: str, column: Column) -> str:
    value, _, interval = text.partition(" ") if column.interval else (str(text), "", "")
    below = f" <small>{_html(interval)}</small>" if interval else ""
    return (f"<b>{_html(value)}</b>" if isinstance(text, Best) else _html(value)) + below


def _html_row(tag: str, cells: Sequence[str], kinds: Sequence[str], more: str = "") -> str:
    inside = "".join(
        f"<{tag}{kind}{more}>{text}</{tag}>" for text, kind in zip(cells, kinds, strict=True)
    )
    return f"<tr>{inside}</tr>"


def _markdown_text(text: str) -> str:
    return " ".join(text.split("\n")).replace("|", "\\|").replace("<", "\\<")


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
