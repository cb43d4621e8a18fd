from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from typing import Any

import pytest

from grasp_cli.report.tables import (
    FORMATS,
    Column,
    Table,
    cell,
    for_terminal,
    html_table,
    plain,
)

COLUMNS = (
    Column("label", "", "text"),
    Column("n", "n", "count"),
    Column("em", "EM", "share"),
    Column("removed", "removed", "share"),
    Column("s", "answer s", "seconds"),
    Column("none", "unknown", "share"),
)
ROWS: list[dict[str, Any]] = [
    {"label": "none|x", "n": 7405, "em": 0.4804, "removed": None, "s": 0.0413, "none": None},
    {"label": "北京", "n": 100, "em": 1.0, "removed": 0.79549, "s": 12.3456, "none": None},
]
TABLE = Table(COLUMNS, ROWS)
NUMBERS = {"7405", "100", "48.0", "100.0", "79.5", "0.041", "12.35"}


def wide(count: int) -> Table:
    """Many rows with long labels, wide whichever way it is turned."""
    return Table(
        COLUMNS, [{**ROWS[0], "label": f"{number}-" + "x" * 30} for number in range(count)]
    )


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [(None, "share", "-"), (0.5, "share", "50.0"), (2.5, "seconds", "2.50"), (3, "count", "3")],
)
def test_cells(value: Any, unit: str, expected: str) -> None:
    assert cell(value, unit) == expected


def test_plain_by_hand() -> None:
    assert plain(TABLE) == (
        "           n   EM %  removed %  answer s\n"
        "------  ----  -----  ---------  --------\n"
        "none|x  7405   48.0          -     0.041\n"
        "北京     100  100.0       79.5     12.35\n"
    )


@pytest.mark.parametrize("count", [1, 2, 9])
def test_plain_is_never_cut_nor_wrapped(count: int) -> None:
    text = plain(wide(count))
    assert text.isascii()
    for number in range(count):
        assert f"{number}-" + "x" * 30 in text
    assert text.count("7405") == text.count("0.041") == count
    widths = {len(line) for line in text.splitlines() if line.endswith(("-", "1", "x"))}
    assert len(widths) == 1  # every full line ends in the same column


def test_a_wide_table_is_turned() -> None:
    row = {f"m{number}": 0.5 for number in range(20)}
    columns = [Column("label", "", "text"), *(Column(key, key, "share") for key in row)]
    lines = plain(Table(columns, [{"label": "x", **row}])).splitlines()
    assert len(lines) == 22
    assert lines[2].split() == ["m0", "%", "50.0"]


def test_the_terminal_shows_every_number_at_any_width() -> None:
    for width in (20, 40, 80, 200):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", for_terminal(TABLE, width))
        assert set(shown.split()) >= NUMBERS, width
        assert "…" not in shown
    assert "unknown" not in for_terminal(TABLE, 80)


def test_programs_get_shares_and_all_columns() -> None:
    array = json.loads(FORMATS["json"](TABLE))
    assert array == [json.loads(line) for line in FORMATS["jsonl"](TABLE).splitlines()] == ROWS
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        [first, second] = csv.DictReader(io.StringIO(FORMATS[name](TABLE)), delimiter=delimiter)
        assert list(first) == [column.key for column in COLUMNS]
        assert (first["em"], first["removed"], second["label"]) == ("0.4804", "", "北京")


def test_markdown_by_hand() -> None:
    assert FORMATS["md"](TABLE).splitlines()[:3] == [
        "|  | n | EM % | removed % | answer s |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| none\\|x | 7405 | 48.0 | - | 0.041 |",
    ]


def test_intervals_stand_in_brackets_or_in_columns_of_their_own() -> None:
    columns = (Column("label", "", "text"), Column("map", "MAP", "share", interval=True))
    rows = [{"label": "x", "map": 0.5, "map_low": 0.4123, "map_high": 0.6}]
    table = Table(columns, [*rows, {"label": "y"}])
    assert "x  50.0 [41.2, 60.0]\n" in plain(table)
    assert "MAP % [95 %]" in plain(table)
    assert plain(table).endswith("y                  -\n")
    assert FORMATS["csv"](table) == "label,map,map_low,map_high\nx,0.5,0.4123,0.6\ny,,,\n"
    assert json.loads(FORMATS["json"](table))[0] == rows[0]


def grouped(**more: Any) -> Table:
    """Two datasets with two rows each; the best are the highest share and the lowest seconds."""
    columns = (
        Column("dataset", "dataset", "text"),
        Column("label", "", "text"),
        Column("f1", "F1", "share", interval=True, best="high"),
        Column("s", "answer s", "seconds", best="low"),
    )
    rows = [
        {"dataset": "a_1", "label": "x&y", "f1": 0.5, "f1_low": 0.4, "f1_high": 0.6, "s": 1.5},
        {"dataset": "a_1", "label": "<i>", "f1": 0.75, "f1_low": 0.7, "f1_high": 0.8, "s": 0.25},
        {"dataset": "b", "label": "x&y", "f1": 0.30001, "f1_low": None, "f1_high": None, "s": None},
        {"dataset": "b", "label": "<i>", "f1": 0.30002, "f1_low": 0.1, "f1_high": 0.5, "s": 2.0},
    ]
    return dataclasses.replace(Table(columns, rows, "dataset"), **more)


def test_latex_by_hand() -> None:
    assert FORMATS["latex"](grouped()) == (
        "% needs \\usepackage{booktabs}\n"
        "\\begin{tabular}{llrr}\n"
        "\\toprule\n"
        "dataset &  & F1 \\% [95 \\%] & answer s \\\\\n"
        "\\midrule\n"
        "a\\_1 & x\\&y & 50.0 [40.0, 60.0] & 1.50 \\\\\n"
        "a\\_1 & \\textless{}i\\textgreater{} & \\textbf{75.0} [70.0, 80.0] & "
        "\\textbf{0.250} \\\\\n"
        "\\midrule\n"
        "b & x\\&y & 30.0 & - \\\\\n"
        "b & \\textless{}i\\textgreater{} & 30.0 [10.0, 50.0] & 2.00 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_latex_has_no_live_character() -> None:
    table = Table([Column("label", "", "text")], [{"label": '\\input{x}$^~#%&_{}|"\n\n'}])
    assert (
        "\\textbackslash{}input\\{x\\}\\$\\textasciicircum{}\\textasciitilde{}\\#\\%\\&\\_\\{\\}"
        in (FORMATS["latex"](table))
    )


def test_best_is_bold_within_its_group_where_the_shown_values_differ() -> None:
    text = FORMATS["md"](grouped())
    assert "| a_1 | \\<i> | **75.0** [70.0, 80.0] | **0.250** |" in text
    assert text.count("**") == 4  # in b the shown values are equal, or alone
    ungrouped = FORMATS["md"](grouped(group=""))
    assert "**75.0**" in ungrouped and "**0.250**" in ungrouped and ungrouped.count("**") == 4
    assert "**" not in plain(grouped())
    shown = for_terminal(grouped(), 100)
    assert "\x1b[1m75.0\x1b[0m [70.0, 80.0]" in shown


def test_html_escapes_and_groups() -> None:
    text = html_table(grouped())
    assert text.count("<tbody>") == 2
    assert "<td>&lt;i&gt;</td>" in text and "<td>x&amp;y</td>" in text
    assert '<td class="num"><b>75.0</b> <small>[70.0, 80.0]</small></td>' in text
    assert "[95 %]" not in text
    assert html_table(grouped()) in FORMATS["html"](grouped())


def test_texts_stand_left_and_numbers_right() -> None:
    lines = plain(grouped()).splitlines()
    assert lines[2].startswith("a_1      x&y  50.0 [40.0, 60.0]")
    assert FORMATS["md"](grouped()).splitlines()[1] == "| --- | --- | ---: | ---: |"
