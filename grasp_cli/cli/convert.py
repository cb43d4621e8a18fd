"""`grasp convert`: foreign datasets and files to records or documents, and records to TREC runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.options import (
    AllowEmpty,
    Expect,
    Inputs,
    Output,
    Quiet,
    Stream,
    refuse_empty,
)
from grasp_cli.formats import (
    DOCUMENT_FORMATS,
    FORMATS,
    Format,
    load_document_format,
    load_format,
)
from grasp_cli.formats.base import documents_of
from grasp_cli.formats.columns import parse_columns
from grasp_cli.formats.selection import select
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.progress import aside, watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import inputs_or_stdin, read_records

RUN = "trec-run"
NAMES = (*FORMATS, *DOCUMENT_FORMATS, RUN)
Choice = Callable[[Iterable[Record]], Iterator[Record]]


def convert(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of: {', '.join(NAMES)}.")],
    inputs: Inputs = None,
    output: Output = None,
    documents: Annotated[
        bool,
        typer.Option(
            "--documents",
            help="Write the distinct passages, for grasp index, instead of the questions.",
        ),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="Read only the first N questions (or documents).",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="Take N questions at random (of the first --limit), in the order of the input.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of --sample.")] = 0,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="KEY=COLUMN",
            show_default=False,
            help="Of a table: which column is id, title or text, as in text=body (repeatable).",
        ),
    ] = None,
    tag: Annotated[
        str, typer.Option("--tag", metavar="NAME", help="The name of the system in a trec-run.")
    ] = "grasp",
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Convert a dataset to records with id, question, answers, contexts and evidence_gold.

    hotpotqa reads HotpotQA and 2WikiMultiHopQA, musique MuSiQue, dpr Natural Questions and
    TriviaQA with ctxs, squad SQuAD and XQuAD, beir a BEIR folder. Files may be JSON arrays or
    lines, plain or compressed. The same passage has the same id in records and documents, also
    under --sample.

    text reads plain text and Markdown files, or directories of them, into documents; csv, tsv and
    parquet read a document a row. trec-run goes the other way: records with contexts to a run
    file for trec_eval and its like.

    grasp convert hotpotqa dev.json --sample 100 -o questions.jsonl

    grasp convert hotpotqa dev.json --sample 100 --documents | grasp index

    grasp convert text handbook/ | grasp index

    grasp retrieve questions.jsonl -k 100 | grasp convert trec-run > run.txt
    """
    if name not in NAMES:
        raise UsageError(f'no format "{name}"; the formats are {", ".join(NAMES)}')
    given = parse_columns(columns or [])
    if given and name not in DOCUMENT_FORMATS:
        raise UsageError(f"--column is for tables (csv, tsv, parquet), not for {name}")
    if documents and name == RUN:
        raise UsageError("--documents and trec-run contradict each other: leave one of them out")
    paths = inputs_or_stdin(inputs, f"convert {name}")
    stream = Stream("convert", paths, output, expect, allow_empty, quiet=quiet)

    def choose(records: Iterable[Record]) -> Iterator[Record]:
        return select(_unique(records), limit, sample, seed)

    if name == RUN:
        notes, written = _write_run(choose(read_records(paths)), stream, tag)
    else:
        notes, chosen = _converted(name, paths, given, choose, documents)
        with watching() as progress, open_sink(output, expect=expect, inputs=paths) as sink:
            for record in progress.reading(chosen, as_done=True):
                with aside(output is None):
                    sink.write(record)
            refuse_empty(sink.count, stream)
        are_documents = documents or name in DOCUMENT_FORMATS
        written = f"{sink.count} {'documents' if are_documents else 'records'}"
    stream.say(f"{written} written")
    for note, count in notes.items():
        if count:
            stream.say(f"{'before sampling: ' if sample else ''}{count} {note}")


def _converted(
    name: str, paths: list[Path], columns: dict[str, str], choose: Choice, documents: bool
) -> tuple[Counter[str], Iterator[Record]]:
    """Remarks, which are complete when the records or documents beside them are used up."""
    if name in DOCUMENT_FORMATS:
        files = load_document_format(name, columns)
        return files.notes, choose(chain.from_iterable(files.documents(path) for path in paths))
    reader = load_format(name)
    if documents:
        return reader.notes, _documents(reader, paths, choose)
    return reader.notes, choose(_records(reader, paths))


def _write_run(records: Iterator[Record], stream: Stream, tag: str) -> tuple[Counter[str], str]:
    from grasp_cli.formats.trec_run import TrecRun

    if not tag or tag.split() != [tag]:
        raise UsageError(f'--tag "{tag}": a name without spaces is needed')
    run, read = TrecRun(tag), 0
    with (
        watching() as progress,
        open_sink(stream.output, expect=stream.expect, inputs=stream.inputs) as sink,
    ):
        for record in progress.reading(records, as_done=True):
            read += 1
            for line in run.lines([record]):
                sink.write_line(line.encode())
        refuse_empty(read, stream)
    return run.notes, f"{sink.count} lines"


def _records(reader: Format, paths: list[Path]) -> Iterator[Record]:
    return chain.from_iterable(reader.records(path) for path in paths)


def _documents(reader: Format, paths: list[Path], choose: Choice) -> Iterator[Record]:
    corpora = [reader.corpus(path) for path in paths]
    apart = [corpus for corpus in corpora if corpus is not None]
    if apart:
        return choose(chain.from_iterable(apart))
    return documents_of(choose(_records(reader, paths)))


def _unique(records: Iterable[Record]) -> Iterator[Record]:
    seen: set[str] = set()
    for record in records:
        if record["id"] in seen:
            raise DataError(
                f'the id "{record["id"]}" comes twice in the input; '
                "convert the files one by one, or correct the id"
            )
        seen.add(record["id"])
        yield record
