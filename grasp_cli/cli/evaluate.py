"""`grasp evaluate`: answered records to a table of metrics, several files side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.options import (
    AllowEmpty,
    Inputs,
    OnError,
    OnErrorOption,
    Quarantine,
    Quiet,
    Stream,
    bad_line_handler,
    is_terminal,
    refuse_empty,
)
from grasp_cli.defaults import EVALUATE
from grasp_cli.evaluation.comparison import Evaluation, Gold, gold_of, labels_of
from grasp_cli.evaluation.gates import check_gates, parse_gate
from grasp_cli.evaluation.metrics import BY_NAME, definitions
from grasp_cli.pipe.engine import arrived
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.sinks import Sink, open_sink
from grasp_cli.pipe.sources import STDIN, OnBadLine, inputs_or_stdin, read_records
from grasp_cli.report.tables import FORMATS, Column, Table, for_terminal

COLUMNS = (
    Column("label", "", "text"),
    *(Column(metric.name, metric.heading, metric.unit) for metric in BY_NAME.values()),
)


def _defined(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the metrics' definitions to the help, as one paragraph of lines."""
    lines = ["", *definitions().splitlines()]
    verb.__doc__ = (verb.__doc__ or "") + "\n    ".join(lines)
    return verb


@_defined
def evaluate(
    inputs: Inputs = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Write the records with their scores here; - is standard output, and the table "
            "then goes to stderr.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            metavar="FILE",
            show_default=False,
            help="The expected questions: they are the denominator, and give the gold that "
            "records lack.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME",
            show_default=False,
            help="A label for the first file, the second …; default: the file's name.",
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")
    ] = EVALUATE.format,
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="METRIC=VALUE",
            show_default=False,
            help="Exit with 8 unless every file reaches this, as in f1=0.4 (repeatable).",
        ),
    ] = None,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Score answers, evidence and cost of records; one table, one row per file.

    Failed and missing records count as 0. Shares are percent in table and md, and run from 0 to 1
    in json, jsonl, csv, tsv, scores and --min. A second row, (full), tells of the full contexts
    where grasp answer --compare was used.

    grasp evaluate none.jsonl lead.jsonl grasp.jsonl

    grasp answer compressed.jsonl | grasp evaluate --gold questions.jsonl --min f1=0.4
    """
    if form not in FORMATS:
        raise UsageError(f'--format: no format "{form}"; there are {", ".join(FORMATS)}')
    gates = [parse_gate(text) for text in least or []]
    paths = inputs_or_stdin(inputs, "evaluate")
    labels = _labels(paths, label or [])
    if output and len(paths) > 1:
        raise UsageError("-o takes the records of one file; evaluate the files one by one for it")
    stream = Stream("evaluate", paths, output, None, allow_empty, on_error, quarantine, quiet)
    expected = gold_of(read_records([gold])) if gold else None
    evaluations = []
    with ExitStack() as stack:
        handler = bad_line_handler(stream, stack)
        others = [*paths, gold] if gold else paths
        sink = stack.enter_context(open_sink(output, inputs=others)) if output else None
        for path, name in zip(paths, labels, strict=True):
            part = replace(stream, inputs=[path])
            evaluations.append(_evaluate(part, name, expected, handler, sink))
    _write_table(Table(COLUMNS, [row for each in evaluations for row in each.rows()]), form, output)
    for each, name in zip(evaluations, labels, strict=True):
        for note, count in each.notes.items():
            if count:
                stream.say(f"{name}: {count} {note}")
    check_gates(gates, [each.row() for each in evaluations])
    if stream.bad_lines:
        raise typer.Exit(7)


def _labels(paths: list[Path], given: list[str]) -> list[str]:
    if len(given) > len(paths):
        raise UsageError(f"--label is given {len(given)} times for {len(paths)} files")
    return labels_of(paths, given)


def _evaluate(
    stream: Stream, label: str, gold: Gold | None, handler: OnBadLine, sink: Sink | None
) -> Evaluation:
    evaluation = Evaluation(label, gold)
    read = 0
    records = read_records(stream.inputs, handler)
    if sink is None:
        for record in records:
            read += 1
            evaluation.add(record)
    else:  # a record leaves as soon as it is scored
        for window in arrived(records, EVALUATE.window):
            read += len(window)
            for record in window:
                sink.write(evaluation.add(record))
            sink.flush()
    refuse_empty(read, stream)
    evaluation.finish()
    return evaluation


def _write_table(table: Table, form: str, output: Path | None) -> None:
    """To standard output, or to stderr where the records go there."""
    aside = output == STDIN
    if form == "table" and is_terminal(sys.stderr if aside else sys.stdout):
        _show(table, aside)
    elif aside:
        typer.echo(FORMATS[form](table), nl=False, err=True)
    else:
        with open_sink(None) as sink:
            sink.write_line(FORMATS[form](table).rstrip("\n").encode())


def _show(table: Table, aside: bool) -> None:
    from rich.console import Console

    width = Console(stderr=aside).width
    typer.echo(for_terminal(table, width), nl=False, err=aside)
