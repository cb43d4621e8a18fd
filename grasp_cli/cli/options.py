"""The options that verbs share, and the run of a stage over a stream."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from grasp_cli import defaults
from grasp_cli.pipe.engine import EachStage, Stage
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.job import Job, Plan, no_record
from grasp_cli.pipe.latency import OneByOne, all_read
from grasp_cli.pipe.limits import MaxErrors
from grasp_cli.pipe.log import LOG
from grasp_cli.pipe.manifest import Recipe
from grasp_cli.pipe.output import Resuming
from grasp_cli.pipe.progress import watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.shards import Shard
from grasp_cli.pipe.sinks import Sink, is_file, open_sink, refuse_input
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
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with FILE.part of an interrupted run, or add what is new in the input to FILE.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="With --resume: also where options, models or index differ."),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        show_default=False,
        help="Only this share of the records, by a hash of their ids; see grasp merge.",
    ),
]
MaxErrorsOption = Annotated[
    str | None,
    typer.Option(
        "--max-errors",
        metavar="N|N%",
        show_default=False,
        help="Stop when more records than this failed or could not be read.",
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
Latency = Annotated[
    bool,
    typer.Option(
        "--latency",
        help="Measure each record by itself, once warm, after all input was read; seconds then are "
        "no shares of a batch, and say latency: true.",
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


Check = Callable[[str], dict[str, str | None]]  # a model as a manifest names it


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
    shard: Shard | None = None
    max_errors: MaxErrors | None = None
    resuming: Resuming = field(default_factory=Resuming)
    options: Mapping[str, Any] = field(default_factory=dict)  # the verb's own, as given
    free: frozenset[str] = frozenset()  # those of them that do not decide what is written
    dry_run: bool = False
    bad_lines: list[str] = field(default_factory=list, compare=False)

    def say(self, text: str) -> None:
        """One line on stderr, unless quiet."""
        if not self.quiet:
            LOG.say(text)

    def recipe(
        self,
        options: Mapping[str, Any] | None = None,
        models: Mapping[str, Mapping[str, str | None]] | None = None,
        index: str | None = None,
    ) -> Recipe:
        """What decides the output: the verb's options, with `options` as they were resolved."""
        resolved = {**self.options, **(options or {})}
        shard = str(self.shard) if self.shard else None
        return Recipe(self.verb, resolved, models or {}, index, shard, self.free)

    def plan(self) -> Plan:
        """The job that the options ask for."""
        return Plan(
            self.inputs,
            self.output,
            self.expect,
            self.allow_empty,
            self.shard,
            self.max_errors,
            self.resuming,
            _with_resume(sys.argv[1:], self.inputs),
        )


def _with_resume(arguments: list[str], inputs: list[Path]) -> str:
    """The command that goes on with what this one left."""
    more = [] if "--resume" in arguments else ["--resume"]
    piped = " (and the same data on standard input)" if STDIN in inputs else ""
    return shlex.join(["grasp", *arguments, *more]) + piped


def run(
    stage: Stage | EachStage,
    stream: Stream,
    records: Iterable[Record] | None = None,
    recipe: Callable[[Check], Recipe] | None = None,
) -> None:
    """Read, process and write until the input ends; exits with the run's code.

    `records` replaces the reading of `stream.inputs` (a single question, say). `recipe` says what
    decides the output, with models as `models.checksums.checked` has them; without it the options
    as given do.
    """

    def made() -> Recipe:
        from grasp_cli.models.checksums import checked

        return recipe(checked) if recipe else stream.recipe()

    if stream.dry_run:
        _show_plan(stream, recipe, records)
        return
    job = Job(stream.plan(), stream.say, LOG.error)
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))  # where a library prints; ours is fd 1
        progress = stack.enter_context(watching(stream.inputs))
        if records is None:
            handler = bad_line_handler(stream, stack, job)
            records = read_records(stream.inputs, handler, progress.took, job.fingerprint)
        if stream.options.get("latency"):
            stage, records = OneByOne(stage), all_read(records)
        code = job.run(stage, records, made, progress)
    if code:
        raise typer.Exit(code)


def _show_plan(
    stream: Stream,
    recipe: Callable[[Check], Recipe] | None,
    records: Iterable[Record] | None,
) -> None:
    from grasp_cli.cli.plan import show

    local: set[str] = set()  # models that this process would load

    def unweighed(name: str) -> dict[str, str | None]:
        local.add(name)
        return {"name": name, "sha256": None}

    made = recipe(unweighed) if recipe else stream.recipe()
    if is_file(stream.output) and stream.output is not None:
        refuse_input(stream.output, stream.inputs)
    with ExitStack() as stack:
        if records is None:
            records = read_records(stream.inputs, bad_line_handler(stream, stack))
        count = show(
            records,
            inputs=stream.inputs,
            output=stream.output,
            models={role: str(model["name"]) for role, model in made.models.items()},
            local=local,
            resolved=made.options,
            index=made.index,
        )
    refuse_empty(count, stream)


def bad_line_handler(stream: Stream, stack: ExitStack, job: Job | None = None) -> OnBadLine:
    """What `--on-error` asks for, as the handler that the reader calls; `job` counts the lines."""
    if stream.on_error is OnError.quarantine and stream.quarantine is None:
        raise UsageError("--on-error quarantine needs --quarantine FILE")
    keep: Sink | None = None
    if stream.on_error is OnError.quarantine:
        keep = stack.enter_context(open_sink(stream.quarantine, inputs=stream.inputs, always=True))

    def handle(bad: BadLine) -> None:
        if stream.on_error is OnError.fail:
            raise bad.error
        stream.bad_lines.append(f"{bad.path}:{bad.number}")
        if job is not None:
            job.tally.unreadable += 1
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
        raise no_record(stream.inputs)


def fair_threads(given: int | None) -> int:
    """`--threads`, else all cores of this process, also where other stages run beside it.

    Threads sleep while they wait (`models.runtime`), so the system shares the cores by need. On
    two cores a whole pipe took 26 s so, and 28 s with one thread a stage.
    """
    if given:
        return given
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, cores or 1)
