"""Tables: pipe tables of Markdown, grid and simple tables of reStructuredText, HTML tables."""

from __future__ import annotations

from grasp_cli.text.lines import Line

_DELIMITER = frozenset("|:-+ \t")
_GRID_BORDER = frozenset("+-=:")


def table_end(lines: list[Line], index: int) -> int | None:
    """The index after the table that begins at line `index`, None if none does."""
    body = lines[index].body
    if body.startswith("+") and _is_grid_border(body):
        return _at_least(2, index, _run(lines, index, ("+", "|")))
    if body.startswith("==") and _is_simple_border(body):
        return _simple_end(lines, index)
    if body.startswith("<table"):
        return _html_end(lines, index)
    if "|" not in body or index + 1 == len(lines):
        return None
    second = lines[index + 1].body
    if _is_delimiter(second) or (_is_closed_row(body) and _is_closed_row(second)):
        end = index + 2
        while end < len(lines) and "|" in lines[end].body:
            end += 1
        return end
    return None


def _run(lines: list[Line], index: int, starts: tuple[str, ...]) -> int:
    """The index after the lines from `index` that begin with one of `starts`."""
    while index < len(lines) and lines[index].body.startswith(starts):
        index += 1
    return index


def _at_least(count: int, index: int, end: int) -> int | None:
    return end if end - index >= count else None


def _simple_end(lines: list[Line], index: int) -> int | None:
    """The line after the last border in the run of lines that are not blank."""
    end = None
    for following in range(index + 1, len(lines)):
        if not lines[following].body:
            break
        if _is_simple_border(lines[following].body):
            end = following + 1
    return end


def _html_end(lines: list[Line], index: int) -> int:
    """The line after `</table>`, at the latest the next blank one."""
    while index < len(lines) and lines[index].body:
        index += 1
        if "</table>" in lines[index - 1].body:
            break
    return index


def _is_delimiter(body: str) -> bool:
    """The row under a pipe table's header: | --- | :-: |."""
    return "|" in body and "-" in body and set(body) <= _DELIMITER


def _is_closed_row(body: str) -> bool:
    return len(body) > 2 and body[0] == body[-1] == "|"


def _is_grid_border(body: str) -> bool:
    return len(body) > 2 and body[-1] == "+" and set(body) <= _GRID_BORDER


def _is_simple_border(body: str) -> bool:
    return body.startswith("==") and set(body) == {"=", " "}
