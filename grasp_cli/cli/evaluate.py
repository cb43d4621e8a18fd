"""`grasp evaluate`: answered records to a table of metrics, several files side by side."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Protocol

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
from grasp_cli.evaluation.comparison import Evaluation, gold_of, labels_of
from grasp_cli.evaluation.gates import check_gates, parse_gate
from grasp_cli.evaluation.metrics import (
    BY_NAME,
    RANKING_COUNTS,
    Metric,
    definitions,
    ranking_metrics,
)
from grasp_cli.evaluation.retrieved import RankingEvaluation, gold_judgement
from grasp_cli.formats.qrels import read_qrels
from grasp_cli.pipe.engine import arrived
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import Sink, open_sink
from grasp_cli.pipe.sources import STDIN, OnBadLine, inputs_or_stdin, read_records
from grasp_cli.report.tables import FORMATS, Column, Table, for_terminal


class Scorer(Protocol):
    """Scores the records of one file; see `evaluation.comparison.Evaluation`."""

    notes: Counter[str]

    def add(self, record: Record) -> Record: ...
    def finish(self) -> None: ...
    def rows(self) -> list[dict[str, Any]]: ...


def _defined(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the metrics' definitions to the help, a paragraph of lines for each table."""
    ranking = definitions(ranking_metrics(EVALUATE.cutoffs)).splitlines()
    lines = ["", *definitions().splitlines(), "", "With --retrieval:", *ranking]
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
    retrieval: Annotated[
        bool,
        typer.Option("--retrieval", help="Score the ranking of the contexts, not the answers."),
    ] = False,
    qrels: Annotated[
        Path | None,
        typer.Option(
            "--qrels",
            metavar="FILE",
            show_default=False,
            help="Relevance judgements as TREC or BEIR write them, for --retrieval; without, the "
            "documents of evidence_gold are relevant, else those titled in gold_titles.",
        ),
    ] = None,
    cutoffs: Annotated[
        list[int] | None,
        typer.Option(
            "--at",
            metavar="K",
            min=1,
            show_default=" and ".join(map(str, EVALUATE.cutoffs)),
            help="A cutoff of recall@k and hit@k (repeatable).",
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
    """Score answers, evidence and cost of records, or their retrieval; a table, a row per file.

    Failed and missing records count as 0. Shares are percent in table and md, and run from 0 to 1
    in json, jsonl, csv, tsv, scores and --min. A second row, (full), tells of the full contexts
    where grasp answer --compare was used. With --retrieval, a document stands where the first of
    its passages does, and brackets hold 95 % bootstrap intervals.

    grasp evaluate none.jsonl lead.jsonl grasp.jsonl

    grasp answer compressed.jsonl | grasp evaluate --gold questions.jsonl --min f1=0.4

    grasp evaluate --retrieval --qrels test.tsv dense.jsonl hybrid.jsonl
    """
    if form not in FORMATS:
        raise UsageError(f'--format: no format "{form}"; there are {", ".join(FORMATS)}')
    if not retrieval and (qrels or cutoffs):
        raise UsageError(f"{'--qrels' if qrels else '--at'} belongs to --retrieval: add it")
    at = tuple(dict.fromkeys(cutoffs or EVALUATE.cutoffs))
    measured = (*RANKING_COUNTS, *ranking_metrics(at)) if retrieval else tuple(BY_NAME.values())
    gates = [parse_gate(text, {metric.name: metric for metric in measured}) for text in least or []]
    paths = inputs_or_stdin(inputs, "evaluate")
    labels = _labels(paths, label or [])
    if output and len(paths) > 1:
        raise UsageError("-o takes the records of one file; evaluate the files one by one for it")
    stream = Stream("evaluate", paths, output, None, allow_empty, on_error, quarantine, quiet)
    scorer = _ranking_scorer(qrels, gold, at) if retrieval else _answer_scorer(gold)
    evaluations = []
    with ExitStack() as stack:
        handler = bad_line_handler(stream, stack)
        others = [*paths, *(path for path in (gold, qrels) if path)]
        sink = stack.enter_context(open_sink(output, inputs=others)) if output else None
        for path, name in zip(paths, labels, strict=True):
            part = replace(stream, inputs=[path])
            evaluations.append(_evaluate(part, scorer(name), handler, sink))
    rows = [each.rows() for each in evaluations]
    _write_table(Table(_columns(measured, retrieval), list(chain(*rows))), form, output)
    for each, name in zip(evaluations, labels, strict=True):
        for note, count in each.notes.items():
            if count:
                stream.say(f"{name}: {count} {note}")
    check_gates(gates, [own for own, *_ in rows])
    if stream.bad_lines:
        raise typer.Exit(7)


def _columns(metrics: Sequence[Metric], retrieval: bool) -> list[Column]:
    named = [
        Column(metric.name, metric.heading, metric.unit, retrieval and metric.unit == "share")
        for metric in metrics
    ]
    return [Column("label", "", "text"), *named]


def _answer_scorer(gold: Path | None) -> Callable[[str], Scorer]:
    expected = gold_of(read_records([gold])) if gold else None
    return lambda label: Evaluation(label, expected)


def _ranking_scorer(
    qrels: Path | None, gold: Path | None, cutoffs: Sequence[int]
) -> Callable[[str], Scorer]:
    judged = read_qrels([qrels]) if qrels else None
    expected = (
        {record["id"]: gold_judgement(record) for record in read_records([gold])} if gold else None
    )
    return lambda label: RankingEvaluation(label, qrels=judged, gold=expected, cutoffs=cutoffs)


def _labels(paths: list[Path], given: list[str]) -> list[str]:
    if len(given) > len(paths):
        raise UsageError(f"--label is given {len(given)} times for {len(paths)} files")
    return labels_of(paths, given)


def _evaluate(stream: Stream, evaluation: Scorer, handler: OnBadLine, sink: Sink | None) -> Scorer:
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
