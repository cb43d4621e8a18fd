"""The options that verbs share, and the run of a stage over a stream."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli import defaults
from grasp_cli.pipe.engine import EachStage, Stage, Tally, run_each, run_stage
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.log import LOG
from grasp_cli.pipe.progress import aside, watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import Sink, open_sink
from grasp_cli.pipe.sources import STDIN, BadLine, OnBadLine, read_records


class OnError(str, Enum):
    """What happens to a line that cannot be read."""

    fail = "fail"
    skip = "skip"
    quarantine = "quarantine"


class Dtype(str, Enum):
    """Number format of an encoder or of a reader in this process."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"


class Profile(str, Enum):
    """Which weights."""

    embedded = "embedded"
    paper = "paper"


Inputs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]…",
        help="Files to read in turn; none or - is standard input.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        help="Write this file, whole or not at all; .gz and .zst compress.",
    ),
]
Expect = Annotated[
    str | None,
    typer.Option(
        metavar="N|FILE",
        show_default=False,
        help="Fail unless N records, or every id of FILE, were written.",
    ),
]
AllowEmpty = Annotated[
    bool, typer.Option("--allow-empty", help="Accept an input without any record.")
]
OnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="What to do with a line that cannot be read.")
]
Quarantine = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default=False, help="Where --on-error quarantine puts such lines."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing on stderr but errors.")]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default=False,
        help="CPU threads (default: all cores; stages of a pipe share them by need).",
    ),
]
ProfileOption = Annotated[
    Profile, typer.Option("--profile", envvar="GRASP_PROFILE", help="Which models to use.")
]
IndexDirectory = Annotated[
    Path, typer.Option("-x", "--index", metavar="DIR", envvar="GRASP_INDEX", help="The index.")
]
DEFAULT_PROFILE = Profile(defaults.PROFILE)
DEFAULT_INDEX = Path(defaults.INDEX.directory)


@dataclass(frozen=True)
class Stream:
    """Where a verb reads and writes, and what it does about trouble."""

    verb: str
    inputs: list[Path]
    output: Path | None = None
    expect: str | None = None
    allow_empty: bool = False
    on_error: OnError = OnError.fail
    quarantine: Path | None = None
    quiet: bool = False
    bad_lines: list[str] = field(default_factory=list, compare=False)

    def say(self, text: str) -> None:
        """One line on stderr, unless quiet."""
        if not self.quiet:
            LOG.say(text)


def run(stage: Stage | EachStage, stream: Stream, records: Iterable[Record] | None = None) -> None:
    """Read, process and write until the input ends; exits with the run's code.

    `records` replaces the reading of `stream.inputs` (a single question, say).
    """
    tally, started = Tally(), time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))  # where a library prints; ours is fd 1
        progress = stack.enter_context(watching(stream.inputs))
        if records is None:
            handler = bad_line_handler(stream, stack)
            records = read_records(stream.inputs, handler, progress.took)
        sink = stack.enter_context(
            open_sink(stream.output, expect=stream.expect, inputs=stream.inputs)
        )
        for batch in _batches(stage, progress.reading(records), tally):
            with aside(stream.output in (None, STDIN)):
                for record in batch:
                    sink.write(record)
                sink.flush()
            progress.advance(len(batch))
        refuse_empty(tally.read, stream)
    _report(stream, sink, tally, time.perf_counter() - started)
    if code := tally.exit_code() or (7 if stream.bad_lines else 0):
        raise typer.Exit(code)


def _batches(
    stage: Stage | EachStage, records: Iterable[Record], tally: Tally
) -> Iterator[list[Record]]:
    if isinstance(stage, Stage):
        return run_stage(stage, records, tally)
    return run_each(stage, records, tally)


def bad_line_handler(stream: Stream, stack: ExitStack) -> OnBadLine:
    """What `--on-error` asks for, as the handler that the reader calls."""
    if stream.on_error is OnError.quarantine and stream.quarantine is None:
        raise UsageError("--on-error quarantine needs --quarantine FILE")
    keep: Sink | None = None
    if stream.on_error is OnError.quarantine:
        keep = stack.enter_context(open_sink(stream.quarantine, inputs=stream.inputs))

    def handle(bad: BadLine) -> None:
        if stream.on_error is OnError.fail:
            raise bad.error
        stream.bad_lines.append(f"{bad.path}:{bad.number}")
        stream.say(str(bad.error))
        if keep:
            keep.write(
                {
                    "file": bad.path,
                    "number": bad.number,
                    "message": str(bad.error),
                    "line": bad.line.decode("utf-8", "replace"),
                }
            )

    return handle


def refuse_empty(count: int, stream: Stream) -> None:
    """An input without a record is what a dead upstream looks like: exit 4, nothing renamed."""
    if count == 0 and not stream.allow_empty:
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in stream.inputs)
        raise DataError(
            f"{names or 'input'}: no record at all; did the stage before fail? "
            "(--allow-empty accepts it)"
        )


def _report(stream: Stream, sink: Sink, tally: Tally, seconds: float) -> None:
    parts = [f"{tally.read} read", f"{sink.count} written"]
    if tally.failed:
        parts.append(f"{tally.failed} failed")
    if tally.passed_on:
        parts.append(f"{tally.passed_on} passed on with an earlier error")
    if stream.bad_lines:
        parts.append(f"{len(stream.bad_lines)} unreadable")
    stream.say(f"{', '.join(parts)}, {seconds:.1f} s")


def fair_threads(given: int | None) -> int:
    """`--threads`, else all cores of this process, also where other stages run beside it.

    Threads sleep while they wait (`models.runtime`), so the system shares the cores by need. On
    two cores a whole pipe took 26 s so, and 28 s with one thread a stage.
    """
    if given:
        return given
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, cores or 1)
