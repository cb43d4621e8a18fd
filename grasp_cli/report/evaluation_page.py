"""A comparison of methods as one self-contained HTML page: nothing from the network.

The table, what differs from the baseline, quality against cost, and the questions, worst losses
first. What a question had before and after compression stands as data in the page and is drawn
when it is opened; without JavaScript everything else is there.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import BY_NAME
from grasp_cli.report.evaluation_script import SCRIPT
from grasp_cli.report.evaluation_style import STYLE
from grasp_cli.report.explained import visible
from grasp_cli.report.pareto import Plot, plots
from grasp_cli.report.pareto_svg import COLOURS, svg
from grasp_cli.report.questions import Question
from grasp_cli.report.tables import Table, html_table

_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'">
<title>grasp evaluate</title>
<style>{STYLE}</style>
</head>
<body>
"""
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Report:
    """What the page is about."""

    methods: Methods
    table: Table
    quality: str
    notes: Sequence[str] = ()


def page(report: Report, questions: Sequence[Question]) -> Iterator[str]:
    """The page in parts, to be written one after the other; `questions` in their order."""
    methods = report.methods
    drawn = plots(methods, report.quality)
    labels = list(dict.fromkeys(each.label for group in methods.groups for each in group.methods))
    yield _HEAD
    yield f"<header>\n<h1>{_title(methods, labels)}</h1>\n<p>{_summary(report)}</p>\n</header>"
    yield f"<main>\n{_table_section(report)}"
    yield _differences(methods, report.quality)
    yield _plot_section(drawn, {label: n for n, label in enumerate(labels)})
    yield _questions(report, questions, labels)
    yield "</main>"
    yield f'<script type="application/json" id="data">{_data(report, questions, labels)}</script>'
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>"


def _title(methods: Methods, labels: Sequence[str]) -> str:
    names = [name for name in methods.datasets if name]
    on = f" on {', '.join(map(_text, names))}" if names else ""
    return f"{len(labels)} {'methods' if len(labels) > 1 else 'method'}{on}"


def _summary(report: Report) -> str:
    counts = {
        group.dataset: max(each.n for each in group.methods) for group in report.methods.groups
    }
    count = max(counts.values(), default=0)
    base = report.methods.baseline
    against = f" Compared with <b>{_own(base)}</b>, question by question." if base else ""
    return f"{count:,} questions.{against} Brackets hold 95 % bootstrap intervals."


def _table_section(report: Report) -> str:
    shown = {column.key for column in report.table.known().columns}
    rows = "\n".join(
        f"<div><dt>{_text(metric.heading)}</dt><dd>{_text(metric.definition)}</dd></div>"
        for metric in BY_NAME.values()
        if metric.name in shown
    )
    notes = "".join(f"<p class='note'>{_own(note)}</p>\n" for note in report.notes)
    return (
        f'<section>\n<h2>Results</h2>\n<div class="wide">{html_table(report.table)}</div>\n{notes}'
        "<details><summary>What the columns mean</summary>\n"
        f"<dl>{rows}</dl></details>\n</section>"
    )


def _differences(methods: Methods, quality: str) -> str:
    said = methods.told(quality)
    if not said:
        return ""
    from grasp_cli.evaluation.differences import explained_tests

    items = "\n".join(f"<li>{_own(each.sentence())}</li>" for each in said)
    return (
        f"<section>\n<h2>Against {_own(methods.baseline or '')}</h2>\n<ul>\n{items}\n</ul>\n"
        f"<p class='note'>{_text(explained_tests(said))}</p>\n</section>"
    )


def _plot_section(drawn: Sequence[Plot], colours: dict[str, int]) -> str:
    if not drawn:
        return ""
    figures = "\n".join(_figure(plot, colours) for plot in drawn)
    return (
        "<section>\n<h2>Quality against cost</h2>\n<p class='note'>Filled: no other method is both "
        "cheaper and better. The line leads through them. Bars are 95 % intervals.</p>\n"
        f'<div class="plots">\n{figures}\n</div>\n</section>'
    )


def _figure(plot: Plot, colours: dict[str, int]) -> str:
    where = f"{_own(plot.dataset)}: " if plot.dataset else ""
    missing = (
        f" Not drawn, a value is not known: {_own(', '.join(plot.lacking))}."
        if plot.lacking
        else ""
    )
    caption = f"{where}{_text(plot.quality)} against {_text(plot.cost)}.{missing}"
    return f"<figure>\n{svg(plot, colours)}\n<figcaption>{caption}</figcaption>\n</figure>"


def _questions(report: Report, questions: Sequence[Question], labels: Sequence[str]) -> str:
    if not questions:
        return ""
    datasets = len([name for name in report.methods.datasets if name]) > 0
    base = report.methods.baseline
    order = "worst losses first" if base else "lowest first"
    total = sum(
        len({key for each in group.methods for key in each.keys})
        for group in report.methods.groups[: len(report.methods.datasets)]
    )
    some = f"{len(questions)} of {total:,} questions" if len(questions) < total else "All questions"
    heading = BY_NAME[report.quality].heading if report.quality in BY_NAME else report.quality
    heads = ["Question", *(["Dataset"] if datasets else []), *(["Worst loss"] if base else [])]
    head = "".join(_sorter(name, number) for number, name in enumerate([*heads, *labels]))
    body = "\n".join(
        _question_row(number, question, labels, base, datasets)
        for number, question in enumerate(questions)
    )
    return (
        f"<section>\n<h2>Questions</h2>\n<p class='note'>{some}, {order}; "
        f"{_text(heading)} in percent. Open one to see what was kept of its contexts.</p>\n"
        "<noscript><p class='note'>Opening and sorting need JavaScript.</p></noscript>\n"
        '<p class="tools"><label>Search <input type="search" id="find"></label></p>\n'
        f'<div class="wide"><table id="questions">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n</section>"
    )


def _sorter(name: str, number: int) -> str:
    kind = "" if name in ("Question", "Dataset") else ' class="num"'
    return f'<th scope="col"{kind}><button data-column="{number}">{_own(name)}</button></th>'


def _question_row(
    number: int, question: Question, labels: Sequence[str], base: str | None, datasets: bool
) -> str:
    text = question.text or question.key.id
    cells = [
        f'<td data-v="{_text(text)}"><button aria-expanded="false" data-question="{number}">'
        f"{_own(text)}</button></td>"
    ]
    if datasets:
        cells.append(
            f'<td data-v="{_text(question.key.dataset)}">{_own(question.key.dataset)}</td>'
        )
    if base is not None:
        cells.append(f'<td class="num" data-v="{question.loss}">{100 * question.loss:+.1f}</td>')
    cells += [_value_cell(question.values.get(label), question, base, label) for label in labels]
    return f"<tr>{''.join(cells)}</tr>"


def _value_cell(value: float | None, question: Question, base: str | None, label: str) -> str:
    if value is None:
        return '<td class="num" data-v="">-</td>'
    before = question.values.get(base) if base is not None and label != base else None
    kind = "" if before is None or before == value else " loss" if value < before else " gain"
    return f'<td class="num{kind}" data-v="{value}">{100 * value:.1f}</td>'


def _data(report: Report, questions: Sequence[Question], labels: Sequence[str]) -> str:
    """What the script draws, as JSON in which nothing can end the element that holds it."""
    value = {
        "baseline": report.methods.baseline,
        "colours": {label: number % COLOURS for number, label in enumerate(labels)},
        "questions": [
            {
                "id": each.key.id,
                "dataset": each.key.dataset,
                "gold": each.gold,
                "sets": each.sets,
                "methods": each.methods,
                "worst": _worst(each, report.methods.baseline),
            }
            for each in questions
        ],
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_ESCAPED)


def _worst(question: Question, base: str | None) -> str | None:
    """The label of the method that lost most, for the script to open with."""
    known = {
        label: value
        for label, value in question.values.items()
        if value is not None and label != base
    }
    return min(known, key=lambda label: known[label]) if known else base


def _text(text: str) -> str:
    return escape(visible(text))


def _own(text: str) -> str:
    """Text from the data, whose reading direction is its own."""
    return f"<bdi>{_text(text)}</bdi>"
