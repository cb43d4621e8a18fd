"""`grasp evaluate`: answered records to a table of metrics, several files side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.evaluate_options import (
    Again,
    Baseline,
    ByFolder,
    Datasets,
    Intervals,
    Plot,
    QualityMetric,
    QuestionCount,
    Source,
    baseline_label,
    folder_of,
    sources_of,
)
from grasp_cli.cli.evaluate_output import Output, is_table
from grasp_cli.cli.options import (
    AllowEmpty,
    Inputs,
    OnError,
    OnErrorOption,
    Quarantine,
    Quiet,
    Stream,
    bad_line_handler,
    fair_threads,
    refuse_empty,
)
from grasp_cli.defaults import EVALUATE
from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.evaluation.gates import check_gates, parse_gate
from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import (
    BY_NAME,
    RANKING_COUNTS,
    SOURCES,
    explained,
    main_metrics,
    ranking_metrics,
    unit_metrics,
)
from grasp_cli.evaluation.questions import Gold, Questions, file_name
from grasp_cli.evaluation.retrieved import RankingEvaluation, gold_judgement
from grasp_cli.evaluation.scoring import Scoring
from grasp_cli.evaluation.units import UnitEvaluation
from grasp_cli.formats.qrels import read_qrels
from grasp_cli.pipe.engine import arrived
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.progress import Progress, aside, watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import Sink, open_sink
from grasp_cli.pipe.sources import STDIN, OnBadLine, inputs_or_stdin, read_records
from grasp_cli.report.comparison_table import metric_columns, score_lines
from grasp_cli.report.tables import FORMATS, PROGRAMS, Column, Table


def evaluate(
    inputs: Inputs = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Write the records with their scores here (- is standard output, and the table "
            "then goes to stderr), or the scores alone of all files where the name ends in .csv "
            "or .tsv.",
        ),
    ] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(
            "--gold",
            metavar="FILE",
            show_default=False,
            help="The expected questions: they are the denominator, and give the gold that "
            "records lack (repeatable).",
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
    units: Annotated[
        bool,
        typer.Option(
            "--units",
            help="With --retrieval, score chunks of up to two sentences against the spans of "
            "evidence_gold: recall, precision, information efficiency.",
        ),
    ] = False,
    cutoffs: Annotated[
        list[int] | None,
        typer.Option(
            "--at",
            metavar="K",
            min=1,
            show_default=" and ".join(map(str, EVALUATE.cutoffs)),
            help="A cutoff of recall@k and hit@k, or with --units of chunks (repeatable).",
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
    datasets: Datasets = None,
    by_folder: ByFolder = False,
    baseline: Baseline = None,
    quality: QualityMetric = EVALUATE.quality,
    intervals: Intervals = True,
    plot: Plot = False,
    questions: QuestionCount = EVALUATE.questions,
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
    stemming: Annotated[
        bool, typer.Option("--stemming", help="Add ROUGE-L of stemmed words (Porter's stemmer).")
    ] = False,
    qa_model: Annotated[
        str | None,
        typer.Option(
            "--qa-model",
            metavar="NAME|DIR",
            show_default=False,
            help="Add Disambig-F1 of records with qa_pairs (ASQA), read by this extractive "
            "question answering model; ASQA's own is a RoBERTa trained on SQuAD 2.0.",
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Show every metric that is known, not the main ones.")
    ] = False,
    explain_metrics: Annotated[
        bool, typer.Option("--explain-metrics", help="Define every metric, and do nothing else.")
    ] = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Score answers, evidence and cost of records, or their retrieval; a table, a row per file.

    Failed and missing records count as 0. Shares are percent in table and md, and run from 0 to 1
    in json, jsonl, csv, tsv, scores and --min. A second row, (full), tells of the full contexts
    where grasp answer --compare was used. Tables for people show the main metrics, --details all;
    --explain-metrics defines them. With --retrieval, a document stands where the first of its
    passages does, and brackets hold 95 % bootstrap intervals.

    grasp evaluate none.jsonl lead.jsonl grasp.jsonl

    grasp answer compressed.jsonl | grasp evaluate --gold questions.jsonl --min f1=0.4

    grasp evaluate --retrieval --qrels test.tsv dense.jsonl hybrid.jsonl
    """
    if explain_metrics:
        typer.echo(explained())
        return
    if form not in FORMATS:
        raise UsageError(f'--format: no format "{form}"; there are {", ".join(FORMATS)}')
    if not retrieval and (qrels or cutoffs):
        raise UsageError(f"{'--qrels' if qrels else '--at'} belongs to --retrieval: add it")
    if retrieval and (stemming or qa_model):
        raise UsageError(f"{'--stemming' if stemming else '--qa-model'} is for answers: leave it")
    if units and (qrels or not retrieval):
        raise UsageError("--units is for --retrieval, with the spans of evidence_gold: no --qrels")
    at = tuple(dict.fromkeys(cutoffs or (EVALUATE.unit_cutoffs if units else EVALUATE.cutoffs)))
    ranked = unit_metrics(at) if units else ranking_metrics(at)
    measured = (*RANKING_COUNTS, *ranked) if retrieval else tuple(BY_NAME.values())
    gates = [parse_gate(text, {metric.name: metric for metric in measured}) for text in least or []]
    paths = inputs_or_stdin(inputs, "evaluate")
    sources = sources_of(paths, label or [], datasets or [], by_folder, baseline)
    if quality not in SOURCES:
        raise UsageError(f'--quality: no metric "{quality}"; there are {", ".join(SOURCES)}')
    if retrieval and (baseline or plot or is_table(output)):
        said = "--baseline" if baseline else "--plot" if plot else f"-o {output}"
        raise UsageError(f"{said} is for answers: leave out --retrieval")
    if output and len(paths) > 1 and not is_table(output):
        raise UsageError(
            "-o takes the records of one file; evaluate the files one by one for it, or name a "
            ".csv or .tsv file, which takes the scores of all"
        )
    stream = Stream("evaluate", paths, output, None, allow_empty, on_error, quarantine, quiet)
    scoring = _scoring(stemming, qa_model)
    how = Output(form, output, quality, intervals, plot, questions)
    again = Again()
    with ExitStack() as stack:
        handler = bad_line_handler(stream, stack)
        others = [*paths, *(gold or []), *([qrels] if qrels else [])]
        sink = stack.enter_context(open_sink(output, inputs=others)) if output else None
        progress = stack.enter_context(watching(paths))

        def read(source: Source, add: Callable[[Record], Record]) -> None:
            part = replace(stream, inputs=[source.path])
            whole = None if is_table(output) or not source.given else sink
            keep = again.keeping(source, add) if form == "html" else add
            _read(part, keep, handler, whole, progress)

        if retrieval:
            rank = _ranker(qrels, gold or [], at, units)
            rankings = _rankings(sources, read, rank)
        else:
            by_question = baseline is not None or form == "html" or is_table(output)
            alone = len(sources) == 1 and not by_question
            answers = _answers(sources, read, gold or [], by_folder, scoring, alone)
            methods = Methods(answers, baseline_label(sources, baseline))
            if sink and output and is_table(output):
                for line in score_lines(methods, "\t" if ".tsv" in output.suffixes else ","):
                    sink.write_line(line.encode("utf-8", "replace"))
    shown = measured if details or form in PROGRAMS else main_metrics(measured)
    if retrieval:
        rows = [each.row() for each in rankings]
        columns = [Column("label", "", "text"), *metric_columns(shown)]
        how.write(Table(columns, rows))
        notes = {source.label: each.notes for source, each in zip(sources, rankings, strict=True)}
    else:
        given = {source.label for source in sources if source.given}
        rows = [each.row() for each in answers if each.label in given]
        notes = {each.label: each.notes for each in answers}
        how.write_methods(methods, shown, again.records(sources, answers), methods.notes())
        for note in methods.notes():
            stream.say(note)
    for name, counted in notes.items():
        for note, count in counted.items():
            if count:
                stream.say(f"{name}: {count} {note}")
    check_gates(gates, rows)
    if stream.bad_lines:
        raise typer.Exit(7)


def _scoring(stemming: bool, qa_model: str | None) -> Scoring:
    if qa_model is None:
        return Scoring(stemming)
    from grasp_cli.models.span_reader import open_reader  # loads numpy, and torch on first use

    return Scoring(stemming, open_reader(qa_model, fair_threads(None)))


Read = Callable[[Source, Callable[[Record], Record]], None]


def _answers(
    sources: Sequence[Source],
    read: Read,
    gold: Sequence[Path],
    by_folder: bool,
    scoring: Scoring,
    alone: bool,
) -> list[Evaluation]:
    """One evaluation per label."""
    known = Gold()
    for path in gold:
        dataset = folder_of(path) if by_folder else ""
        known.add(read_records([path]), dataset, file_name(path))
    expected, questions = known if gold else None, Questions()
    found: dict[str, Evaluation] = {}
    for source in sources:
        if source.label not in found:
            found[source.label] = Evaluation(
                source.label, expected, questions, scoring, alone=alone
            )
        one = found[source.label]
        one.expect(source.dataset)
        read(source, partial(one.add, dataset=source.dataset, file=source.name))
    for one in found.values():
        one.finish()
    return list(found.values())


Ranked = RankingEvaluation | UnitEvaluation


def _ranker(
    qrels: Path | None, gold: Sequence[Path], cutoffs: Sequence[int], units: bool
) -> Callable[[str], Ranked]:
    """What scores the file of a label."""
    expected = list(read_records(gold))
    if units:
        pieces = {record["id"]: record.get("evidence_gold") or [] for record in expected}
        return lambda label: UnitEvaluation(label, gold=pieces if gold else None, cutoffs=cutoffs)
    judged = read_qrels([qrels]) if qrels else None
    judgements = {record["id"]: gold_judgement(record) for record in expected}
    return lambda label: RankingEvaluation(
        label, qrels=judged, gold=judgements if gold else None, cutoffs=cutoffs
    )


def _rankings(sources: Sequence[Source], read: Read, rank: Callable[[str], Ranked]) -> list[Ranked]:
    """One evaluation per file."""
    found = []
    for source in sources:
        one = rank(source.label)
        read(source, one.add)
        one.finish()
        found.append(one)
    return found


def _read(
    stream: Stream,
    add: Callable[[Record], Record],
    handler: OnBadLine,
    sink: Sink | None,
    progress: Progress,
) -> None:
    read = 0
    records = read_records(stream.inputs, handler, progress.took)
    if sink is None:
        for record in progress.reading(records, as_done=True):
            read += 1
            add(record)
    else:  # a record leaves as soon as it is scored
        for window in arrived(progress.reading(records), EVALUATE.window):
            read += len(window)
            with aside(stream.output == STDIN):
                for record in window:
                    sink.write(add(record))
                sink.flush()
            progress.advance(len(window))
    refuse_empty(read, stream)
