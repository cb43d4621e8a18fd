"""A Pareto plot in characters."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from grasp_cli.report.axes import Axis, axis
from grasp_cli.report.explained import visible
from grasp_cli.report.pareto import Plot, Point

_HEIGHT = 15
_LEFT = 8  # columns of the labels of the quality axis


def drawn(plot: Plot, width: int = 80) -> str:
    """The plot in at most `width` columns of ASCII (labels aside), and what its letters mean."""
    across = axis([end for p in plot.points for end in (p.cost.low, p.cost.high)])
    up = axis([end for p in plot.points for end in (p.quality.low, p.quality.high)])
    columns = max(20, min(width, 100) - _LEFT - 2)
    cells = [[" "] * columns for _ in range(_HEIGHT)]
    letters = dict(zip((p.label for p in plot.points), _letters(len(plot.points)), strict=True))
    for point in plot.points:
        _draw_interval(cells, point, across, up)
    for point in plot.points:
        line, column = _place(point.cost.mean, point.quality.mean, across, up, cells)
        taken = cells[line][column] not in " |-+"
        cells[line][column] = "&" if taken else letters[point.label]
    where = f"{visible(plot.dataset)}: " if plot.dataset else ""
    lines = [f"{where}{plot.quality} % against {plot.cost}, with 95 % intervals"]
    marks = {_row(value, up): f"{100 * value:.0f}" for value in up.ticks}
    lines += [
        f"{marks.get(n, ''):>{_LEFT - 2}} |{''.join(r)}".rstrip() for n, r in enumerate(cells)
    ]
    lines += [" " * (_LEFT - 1) + "+" + "-" * columns, _ticks(across, columns)]
    return "\n".join([*lines, "", *_legend(plot, letters)]) + "\n"


def _legend(plot: Plot, letters: dict[str, str]) -> list[str]:
    """What the letters mean, cheapest first; a star for those that no other beats."""
    width = max(len(visible(point.label)) for point in plot.points)
    lines = []
    for point in sorted(plot.points, key=lambda p: (p.cost.mean, p.label)):
        star = "*" if point.best else " "
        name = visible(point.label)
        value = _amount(point.cost.mean, plot.unit)
        lines.append(
            f"{star} {letters[point.label]}  {name:<{width}}  {value:>9}  "
            f"{100 * point.quality.mean:5.1f} "
            f"[{100 * point.quality.low:.1f}, {100 * point.quality.high:.1f}]"
        )
    lines.append("* no other method is both cheaper and better; & several at one place")
    if plot.lacking:
        lines.append(f"not drawn, a value is not known: {visible(', '.join(plot.lacking))}")
    return lines


def _draw_interval(cells: list[list[str]], point: Point, across: Axis, up: Axis) -> None:
    row, column = _place(point.cost.mean, point.quality.mean, across, up, cells)
    top, bottom = _row(point.quality.high, up), _row(point.quality.low, up)
    for place in range(top, bottom + 1):
        cells[place][column] = "+" if cells[place][column] == "-" else "|"
    width = len(cells[0])
    left, right = (_column(x, across, width) for x in (point.cost.low, point.cost.high))
    for place in range(left, right + 1):
        cells[row][place] = "+" if cells[row][place] == "|" else "-"


def _place(
    cost: float, quality: float, across: Axis, up: Axis, cells: list[list[str]]
) -> tuple[int, int]:
    return _row(quality, up), _column(cost, across, len(cells[0]))


def _row(value: float, up: Axis) -> int:
    return round((1 - up.share(value)) * (_HEIGHT - 1))


def _column(value: float, across: Axis, width: int) -> int:
    return round(across.share(value) * (width - 1))


def _ticks(across: Axis, columns: int) -> str:
    """The numbers below the cost axis, those left out that would run into the one before."""
    line = ""
    for value in across.ticks:
        text = f"{value:g}"
        start = max(0, _LEFT + _column(value, across, columns) - len(text) // 2)
        if not line or start > len(line):
            line = f"{line:<{start}}{text}"
    return line


def _letters(count: int) -> Sequence[str]:
    letters = ascii_lowercase + ascii_lowercase.upper() + "0123456789"
    return [letters[number % len(letters)] for number in range(count)]


def _amount(value: float, unit: str) -> str:
    if unit == "tokens":
        return f"{value:.0f}"
    return f"{value:.2f} s" if value >= 1 else f"{value:.3f} s"
