"""A Pareto plot as SVG, to stand inside a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from grasp_cli.report.axes import Axis, axis
from grasp_cli.report.explained import visible
from grasp_cli.report.pareto import Plot, Point, frontier

_WIDTH, _HEIGHT = 560, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 46
_CHARACTER, _LINE = 7.0, 14.0  # about the size of a label's text
COLOURS = 10

Box = tuple[float, float, float, float]  # left, top, right, bottom


def svg(plot: Plot, colours: dict[str, int]) -> str:
    """The plot; `colours` numbers the methods, so that one has the same colour in all plots."""
    across = axis([end for p in plot.points for end in (p.cost.low, p.cost.high)])
    up = axis([end for p in plot.points for end in (p.quality.low, p.quality.high)])
    where = f"{plot.dataset}: " if plot.dataset else ""
    title = f"{where}{plot.quality} against {plot.cost}"
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(title)}">',
        *_axes(across, up, plot),
        _frontier(plot, across, up),
        *(_interval(point, across, up, colours) for point in plot.points),
        *(_dot(point, plot, across, up, colours) for point in plot.points),
        *_labels(plot, across, up, colours),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _axes(across: Axis, up: Axis, plot: Plot) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in up.ticks:
        y = _y(value, up)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield (
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{100 * value:g}</text>"
        )
    for value in across.ticks:
        x = _x(value, across)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>'
        yield (
            f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{value:g}</text>"
        )
    middle = (_LEFT + right) / 2
    yield (
        f'<text class="axis" x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{_text(plot.cost)}</text>"
    )
    yield (
        f'<text class="axis" transform="translate(13 {(_TOP + bottom) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{_text(plot.quality)} %</text>'
    )


def _frontier(plot: Plot, across: Axis, up: Axis) -> str:
    """Steps through the points that no other beats: what is to be had at a cost."""
    best = frontier(plot.points)
    if len(best) < 2:
        return ""
    x, y = _x(best[0].cost.mean, across), _y(best[0].quality.mean, up)
    path = f"M{x:.1f} {y:.1f}"
    for _, point in pairwise(best):
        path += f"H{_x(point.cost.mean, across):.1f}V{_y(point.quality.mean, up):.1f}"
    return f'<path class="front" d="{path}"/>'


def _interval(point: Point, across: Axis, up: Axis, colours: dict[str, int]) -> str:
    x, y = _x(point.cost.mean, across), _y(point.quality.mean, up)
    left, right = _x(point.cost.low, across), _x(point.cost.high, across)
    low, high = _y(point.quality.low, up), _y(point.quality.high, up)
    path = (
        f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
        f"M{left:.1f} {y:.1f}H{right:.1f}M{left:.1f} {y - 4:.1f}v8M{right:.1f} {y - 4:.1f}v8"
    )
    return f'<path class="bars c{_colour(point, colours)}" d="{path}"/>'


def _dot(point: Point, plot: Plot, across: Axis, up: Axis, colours: dict[str, int]) -> str:
    x, y = _x(point.cost.mean, across), _y(point.quality.mean, up)
    kind = "best" if point.best else "beaten"
    return (
        f'<circle class="{kind} c{_colour(point, colours)}" cx="{x:.1f}" cy="{y:.1f}" r="5">'
        f"<title>{_text(described(point, plot))}</title></circle>"
    )


def described(point: Point, plot: Plot) -> str:
    """A point in words and numbers."""
    amount = f"{point.cost.mean:.0f}" if plot.unit == "tokens" else f"{point.cost.mean:.3g}"
    good = point.quality
    interval = f"[{100 * good.low:.1f}, {100 * good.high:.1f}]"
    return f"{point.label}: {plot.quality} {100 * good.mean:.1f} {interval}, {amount} {plot.cost}"


def _labels(plot: Plot, across: Axis, up: Axis, colours: dict[str, int]) -> Iterator[str]:
    """A name beside each point, where it covers no point and no other name if there is room."""
    dots = [(_x(p.cost.mean, across), _y(p.quality.mean, up)) for p in plot.points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in dots]
    for point, (x, y) in zip(plot.points, dots, strict=True):
        width = _CHARACTER * len(point.label) + 2
        boxes = [
            (left, top, left + width, top + _LINE)
            for top in (
                y - _LINE - 2,
                y + 2,
                y - 2 * _LINE,
                y + _LINE,
                y - 3 * _LINE,
                y + 2 * _LINE,
            )
            for left in (x + 8, x - 8 - width)
        ]
        inside = [box for box in boxes if _is_inside(box)] or boxes[:1]
        box = min(inside, key=lambda box: sum(_overlap(box, other) for other in taken))
        taken.append(box)
        yield (
            f'<text class="name c{_colour(point, colours)}" x="{box[0]:.1f}" '
            f'y="{box[3] - 3:.1f}">{_text(point.label)}</text>'
        )


def _is_inside(box: Box) -> bool:
    left, top, right, bottom = box
    return left >= _LEFT and right <= _WIDTH and top >= 0 and bottom <= _HEIGHT - _BOTTOM


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)


def _x(value: float, across: Axis) -> float:
    return _LEFT + across.share(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float, up: Axis) -> float:
    return _TOP + (1 - up.share(value)) * (_HEIGHT - _TOP - _BOTTOM)


def _colour(point: Point, colours: dict[str, int]) -> int:
    return colours.get(point.label, 0) % COLOURS


def _text(text: str) -> str:
    return escape(visible(text))
