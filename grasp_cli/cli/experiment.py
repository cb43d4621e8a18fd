"""`grasp experiment`: datasets × methods × reader from one file into one folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grasp_cli.cli.options import Quiet, Stream, Threads, fair_threads
from grasp_cli.defaults import EVALUATE, EXPERIMENT
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.log import LOG, is_terminal
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.report.tables import FORMATS, for_terminal

if TYPE_CHECKING:
    from grasp_cli.experiment.config import Experiment, Method
    from grasp_cli.experiment.runner import Cell, Runner, Tools
    from grasp_cli.pipe.engine import Stage

Config = Annotated[
    Path, typer.Argument(metavar="CONFIG.toml", help="What to run.", show_default=False)
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        show_default=EXPERIMENT.output.format(stem="CONFIG"),
        help="The folder of the results.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default="of the file",
        help="Only the first N questions of each dataset.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan and what is missing, and do nothing.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Make cells again that were made with other settings.")
]
Form = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help=f"What is printed, one of: {', '.join(FORMATS)}."
    ),
]


def experiment(
    config: Config,
    output: Output = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    force: Force = False,
    form: Form = EVALUATE.format,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run every method on every dataset, and report.

    A cell is a dataset under a method: its contexts (retrieved where the questions bring none)
    compressed, then answered by the reader, if there is one. The folder gets a file of records
    per cell, final_benchmark_results.csv, details_METHOD.csv and the report (html, md, csv, json,
    tex), which is also printed. The same command goes on where it was interrupted; what is
    finished is not done again.

    grasp experiment sample_data/experiment.toml

    grasp experiment sample_data/paper.toml --dry-run
    """
    from grasp_cli.experiment.folder import Folder
    from grasp_cli.experiment.runner import Runner

    if form not in FORMATS:
        raise UsageError(f'--format: no format "{form}"; there are {", ".join(FORMATS)}')
    stream = Stream("experiment", [config], quiet=quiet)
    asked = read(config, limit)
    folder = Folder(output or Path(EXPERIMENT.output.format(stem=config.stem)))
    answers = None if dry_run else folder.answers
    tools = tools_of(asked, stream, fair_threads(threads), answers)
    runner = Runner(asked, folder, tools, stream.say, LOG.error)
    if dry_run:
        _print_plan(runner, tools, stream)
        return
    with folder.alone():
        cells = runner.run(force=force)
        if cells:
            _report(runner, cells, form, stream)
    if runner.failures:
        stream.say(f"{len(runner.failures)} of {len(list(runner.cells))} cells failed")
    if code := runner.exit_code():
        raise typer.Exit(code)


def read(config: Path, limit: int | None = None) -> Experiment:
    """The experiment in a file, its options checked as those of the verbs they belong to."""
    from grasp_cli.cli.answer import answer
    from grasp_cli.cli.compress import compress
    from grasp_cli.cli.index import index
    from grasp_cli.cli.retrieve import retrieve
    from grasp_cli.cli.verb_options import checked
    from grasp_cli.experiment.config import read_config

    verbs: dict[str, Callable[..., None]] = {
        "index": index,
        "retrieve": retrieve,
        "compress": compress,
        "answer": answer,
    }

    def check(verb: str, options: Any, where: str) -> dict[str, Any]:
        return checked(verbs[verb], options, where)

    return read_config(config, check, limit)


def tools_of(asked: Experiment, stream: Stream, cores: int, answers: Path | None = None) -> Tools:
    """Index, search, compressors and reader, each made as its own verb makes it.

    `answers` is where answers are kept, so that methods that leave the same context ask once.
    """
    from grasp_cli.cli.answer import stage_of as reader_of
    from grasp_cli.cli.retrieve import stage_of as search_of
    from grasp_cli.compression.setup import Shared, asked_of, compressor
    from grasp_cli.experiment.runner import Tools

    shared = Shared()

    def compress(method: Method) -> Stage:
        settings, more = asked_of(method.choices)
        return compressor(settings, replace(more, threads=cores, quiet=stream.quiet), shared)

    reader = None
    if asked.reader:
        choices = dict(asked.reader.choices)
        choices["cache"] = choices["cache"] or answers
        reader = reader_of(
            choices.pop("reader"), choices.pop("reader_model"), say=stream.say, threads=cores,
            **choices,
        )  # fmt: skip
    return Tools(
        build_index=lambda documents, directory: _index(asked, documents, directory, cores),
        open_index=lambda directory: search_of(
            directory, cores, stream.say, **asked.retrieve.choices
        ),
        compressor=compress,
        reader=reader,
        forget=shared.forget,
    )


def _index(asked: Experiment, documents: Iterable[Record], directory: Path, cores: int) -> None:
    from grasp_cli.cli.index import BM25_OF, new_plan
    from grasp_cli.cli.options import Profile
    from grasp_cli.retrieval.writer import build

    choices = dict(asked.index.choices)
    choices["bm25"] = choices["bm25"] or BM25_OF[Profile(asked.profile)].value
    plan = new_plan(directory, choices, choices.pop("dense_model"), cores)
    build(documents, directory, plan.settings, plan.encoder, threads=cores, trees=plan.trees())


def _report(runner: Runner, cells: list[Cell], form: str, stream: Stream) -> None:
    """Write what there is to the folder, and print the comparison."""
    from grasp_cli.experiment.outputs import write_outputs
    from grasp_cli.experiment.report import FILES, ExperimentReport

    asked, folder = runner.experiment, runner.folder
    answered = asked.reader is not None
    write_outputs(folder, cells, answered=answered)
    report = ExperimentReport(
        folder, cells, answered=answered, baseline=asked.baseline, failures=runner.failures
    )
    report.write()
    text = report.text(form)
    if form == "table" and is_terminal(sys.stdout):
        text = for_terminal(report.table(form), shutil.get_terminal_size().columns)
    with open_sink(None) as sink:
        sink.write_line(text.rstrip("\n").encode("utf-8", "replace"))
    if form not in ("html", "md"):  # which have them
        for line in (*report.sentences(), *report.notes()):
            stream.say(line)
    stream.say(f"the report is in {folder.root}: {', '.join(FILES.values())}")


def _print_plan(runner: Runner, tools: Tools, stream: Stream) -> None:
    from grasp_cli.experiment.plan import obstacles, plan
    from grasp_cli.report.tables import plain

    typer.echo(plain(plan(runner)), nl=False)
    for missing in obstacles(runner, tools):
        stream.say(missing)
