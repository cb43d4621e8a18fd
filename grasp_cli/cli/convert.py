"""`grasp convert`: foreign datasets to records, or to documents for `index`."""

from __future__ import annotations

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
from grasp_cli.formats import FORMATS, Format, load_format
from grasp_cli.formats.base import documents_of
from grasp_cli.formats.selection import select
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import inputs_or_stdin

Choice = Callable[[Iterable[Record]], Iterator[Record]]


def convert(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")],
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
            min=1, metavar="N", show_default=False, help="Read only the first N questions."
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
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Convert a dataset to records with id, question, answers, contexts and evidence_gold.

    hotpotqa reads HotpotQA and 2WikiMultiHopQA, musique MuSiQue, dpr Natural Questions and
    TriviaQA with ctxs, squad SQuAD and XQuAD, beir a BEIR folder. Files may be JSON arrays or
    lines, plain or compressed. The same passage has the same id in records and documents, also
    under --sample.

    grasp convert hotpotqa dev.json --sample 100 -o questions.jsonl

    grasp convert hotpotqa dev.json --sample 100 --documents | grasp index
    """
    if name not in FORMATS:
        raise UsageError(f'no format "{name}"; the formats are {", ".join(FORMATS)}')
    paths = inputs_or_stdin(inputs, f"convert {name}")
    stream = Stream("convert", paths, output, expect, allow_empty, quiet=quiet)
    reader = load_format(name)

    def choose(records: Iterable[Record]) -> Iterator[Record]:
        return select(_unique(records), limit, sample, seed)

    chosen = _documents(reader, paths, choose) if documents else choose(_records(reader, paths))
    with open_sink(output, expect=expect, inputs=paths) as sink:
        for record in chosen:
            sink.write(record)
        refuse_empty(sink.count, stream)
    stream.say(f"{sink.count} {'documents' if documents else 'records'} written")
    for note, count in reader.notes.items():
        if count:
            stream.say(f"{'before sampling: ' if sample else ''}{count} {note}")


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
