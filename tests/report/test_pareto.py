from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.evaluation.methods import Methods
from grasp_cli.report.axes import axis
from grasp_cli.report.pareto import Plot, Point, Spread, frontier, plots
from grasp_cli.report.pareto_svg import svg
from grasp_cli.report.pareto_terminal import drawn


def point(label: str, cost: float, quality: float) -> Point:
    spread = Spread(quality, max(0, quality - 0.1), min(1, quality + 0.1))
    return Point(label, Spread(cost, cost * 0.9, cost * 1.1), spread)


def naive_frontier(points: list[Point]) -> set[str]:
    """Points for which no other is at least as good in both and better in one."""
    return {
        one.label
        for one in points
        if not any(
            other.cost.mean <= one.cost.mean
            and other.quality.mean >= one.quality.mean
            and (other.cost.mean, other.quality.mean) != (one.cost.mean, one.quality.mean)
            for other in points
        )
    }


def test_the_frontier_is_what_no_other_beats() -> None:
    source = random.Random(2)
    for _ in range(100):
        points = [
            point(str(n), source.randrange(1, 8), source.randrange(8) / 8)
            for n in range(source.randrange(1, 9))
        ]
        unique = {(p.cost.mean, p.quality.mean): p for p in reversed(points)}
        assert {p.label for p in frontier(list(unique.values()))} == naive_frontier(
            list(unique.values())
        )


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0, 100], [0, 20, 40, 60, 80, 100]),
        ([0.31, 0.58], [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6]),
        ([237.2, 1474.9], [0, 250, 500, 750, 1000, 1250, 1500]),
    ],
)
def test_round_numbers_on_an_axis(values: list[float], ticks: list[float]) -> None:
    assert axis(values).ticks == pytest.approx(ticks)


def test_every_value_is_on_its_axis() -> None:
    source = random.Random(1)
    for _ in range(300):
        scale = 10 ** source.uniform(-4, 5)
        values = [source.random() * scale for _ in range(source.randrange(1, 5))]
        found = axis(values)
        assert all(-1e-9 <= found.share(value) <= 1 + 1e-9 for value in values)
        assert 2 <= len(found.ticks) <= 9
    assert axis([0.0]).share(0.0) == 0
    assert 0 < axis([0.5, 0.5]).share(0.5) < 1


def record(number: int, right: bool, tokens: int | None, dataset: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": str(number),
        "question": "?",
        "answers": ["Ann Lee"],
        "answer": "Ann Lee" if right else "Bob",
        "reader": {"seconds": 0.5 if tokens is None else tokens / 1000},
    }
    if dataset:
        found["dataset"] = dataset
    if tokens is not None:
        found["compression"] = {"tokens_in": 400, "tokens_out": tokens, "seconds": 0.01}
    return found


def evaluation(label: str, records: list[dict[str, Any]]) -> Evaluation:
    found = Evaluation(label)
    for item in records:
        found.add(item)
    found.finish()
    return found


def methods() -> Methods:
    return Methods(
        [
            evaluation("none", [record(n, n % 2 == 0, 400) for n in range(20)]),
            evaluation("good", [record(n, n % 4 != 0, 100) for n in range(20)]),
            evaluation("poor", [record(n, n == 0, 200) for n in range(20)]),
            evaluation("raw", [record(n, True, None) for n in range(20)]),
        ]
    )


def test_points_are_means_with_intervals() -> None:
    tokens, seconds = plots(methods(), "f1")
    assert [(p.label, p.cost.mean, p.quality.mean, p.best) for p in tokens.points] == [
        ("none", 400, 0.5, False),
        ("good", 100, 0.75, True),
        ("poor", 200, 0.05, False),
    ]
    assert tokens.lacking == ["raw"]
    good = tokens.points[1]
    row = methods().rows()[1]
    assert (good.quality.low, good.quality.high) == (row["f1_low"], row["f1_high"])
    assert (good.cost.low, good.cost.high) == (100, 100)
    assert [p.label for p in seconds.points if p.best] == ["good", "raw"]
    assert seconds.cost == "seconds end to end"


def test_evidence_recall_stands_in_where_nothing_was_answered() -> None:
    def unanswered(number: int) -> dict[str, Any]:
        return {
            "id": str(number),
            "question": "?",
            "contexts": [{"id": "d", "text": "abc"}],
            "evidence_gold": [{"id": "d"}],
            "compression": {"tokens_in": 4, "tokens_out": 4},
        }

    [plot] = plots(Methods([evaluation("x", [unanswered(n) for n in range(3)])]), "f1")
    assert (plot.quality, plot.points[0].quality.mean) == ("evidence", 1)


PLOT = Plot(
    'a<script>"',
    "F1",
    "tokens of the context",
    "tokens",
    [
        point("none", 1000, 0.6),
        replace(point("<b>grasp</b>", 200, 0.58), best=True),
        point("lead\x1b[1m", 400, 0.3),
    ],
    ["<raw>"],
)


def test_svg_is_well_formed_and_escaped() -> None:
    shown = svg(PLOT, {"none": 0, "<b>grasp</b>": 1})
    tree = ET.fromstring(shown)
    assert {tag.tag for tag in tree.iter()} == {"svg", "path", "text", "circle", "title"}
    texts = [element.text for element in tree.iter("text")]
    assert {"none", "<b>grasp</b>", "lead␛[1m", "F1 %", "tokens of the context"} <= set(texts)
    assert "\x1b" not in shown
    assert len(tree.findall("circle")) == 3
    bars = [element for element in tree.iter("path") if "bars" in element.get("class", "")]
    assert len(bars) == 3


def test_svg_places_points_by_their_values() -> None:
    points = [point("a", 0, 0.0), point("b", 100, 1.0), point("c", 50, 0.5)]
    tree = ET.fromstring(svg(Plot("", "F1", "tokens", "tokens", points, []), {}))
    (ax, ay), (bx, by), (cx, cy) = (
        (float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in tree.iter("circle")
    )
    assert ax < cx < bx and by < cy < ay
    assert cy == pytest.approx((ay + by) / 2, abs=0.1)


def test_names_cover_neither_points_nor_each_other() -> None:
    points = [point(f"method {n}", 100 + 4 * n, 0.5 + 0.01 * n) for n in range(5)]
    points.append(point("far", 1000, 0.9))
    tree = ET.fromstring(svg(Plot("", "F1", "tokens", "tokens", points, []), {}))
    names = [e for e in tree.iter("text") if "name" in e.get("class", "")]
    places = {(round(float(e.get("x", ""))), round(float(e.get("y", "")))) for e in names}
    assert len(places) == len(points)


def test_in_characters() -> None:
    text = drawn(PLOT, 70)
    lines = text.splitlines()
    assert lines[0] == 'a<script>": F1 % against tokens of the context, with 95 % intervals'
    assert all(len(line) <= 78 for line in lines)
    assert "\x1b" not in text
    assert re.search(r"^\* b  <b>grasp</b> +200 +58.0 \[48.0, 68.0\]$", text, re.MULTILINE)
    assert re.search(r"^  c  lead", text, re.MULTILINE)
    assert "not drawn, a value is not known: <raw>" in text
    body = [line[8:] for line in lines if re.match(r"[ 0-9]{6} \|", line)]
    assert len(body) == 15
    for letter in "abc":
        assert sum(line.count(letter) for line in body) == 1
    column = {x: next(line.index(x) for line in body if x in line) for x in "abc"}
    row = {x: next(n for n, line in enumerate(body) if x in line) for x in "abc"}
    assert column["b"] < column["c"] < column["a"]
    assert row["a"] <= row["b"] < row["c"]


def test_points_at_one_place_are_told() -> None:
    same = [point("x", 10, 0.5), point("y", 10, 0.5), point("z", 90, 0.5)]
    assert "&" in drawn(Plot("", "F1", "tokens", "tokens", same, []), 60).split("\n\n")[0]
