"""A job: a stage run over all records of its inputs, into one output.

However it ends, the records that were written are whole and stay, the counts are said, and the
manifest of a file tells the story.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from grasp_cli.pipe.engine import EachStage, Stage, Tally, run_each, run_stage
from grasp_cli.pipe.errors import DataError, PipeClosed, ProcessingError, UsageError, exit_code_of
from grasp_cli.pipe.expectation import Expectation
from grasp_cli.pipe.fingerprint import Fingerprint
from grasp_cli.pipe.interruption import Interruption
from grasp_cli.pipe.limits import MaxErrors
from grasp_cli.pipe.manifest import Recipe
from grasp_cli.pipe.output import FileOutput, Output, Resuming, open_stream_output
from grasp_cli.pipe.part import part_of
from grasp_cli.pipe.progress import Progress, aside
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.shards import Shard
from grasp_cli.pipe.sinks import is_file, refuse_input

Say = Callable[[str], None]
_DECIMALS = 3


@dataclass(frozen=True)
class Plan:
    """What a job reads, writes and puts up with."""

    inputs: list[Path]
    output: Path | None = None
    expect: str | None = None
    allow_empty: bool = False
    shard: Shard | None = None
    max_errors: MaxErrors | None = None
    resuming: Resuming = field(default_factory=Resuming)
    again: str = "the same command with --resume"  # the command that goes on after a break

    def __post_init__(self) -> None:
        if self.resuming.force and not self.resuming.asked:
            raise UsageError("--force belongs to --resume: add it")
        if self.resuming.asked and not is_file(self.output):
            raise UsageError("--resume goes on with a file: name it with -o FILE")
        if self.output is not None and is_file(self.output):
            refuse_input(self.output, self.inputs)
            refuse_input(part_of(self.output), self.inputs)


class Job:
    """One run of `plan`. `say` takes a line of counts, `warn` what must be said in any case."""

    def __init__(self, plan: Plan, say: Say, warn: Say) -> None:
        self.plan = plan
        self.tally = Tally()
        self.fingerprint = Fingerprint()
        self._say = say
        self._warn = warn
        self._started = time.perf_counter()
        self._began = datetime.now(timezone.utc).isoformat(timespec="seconds")

    def run(
        self,
        stage: Stage | EachStage,
        records: Iterable[Record],
        recipe: Callable[[], Recipe],
        progress: Progress | None = None,
    ) -> int:
        """Read, process and write until the input ends; gives the exit code.

        `recipe` is asked for where the output is a file. Raises what broke the job off, after
        putting its records in safety.
        """
        plan = self.plan
        self._progress = progress or Progress()
        expectation = Expectation(plan.expect, plan.shard) if plan.expect is not None else None
        with ExitStack() as stack:
            interruption = stack.enter_context(Interruption().installed())
            if not is_file(plan.output):
                output = stack.enter_context(open_stream_output(plan.output, expectation))
                return self._told(output, lambda: self._work(stage, records, output, interruption))
            assert plan.output is not None
            file = FileOutput(plan.output, recipe(), plan.resuming, expectation)
            return self._told(file, lambda: self._safely(stage, records, file, interruption))

    def _told(self, output: Output, work: Callable[[], int]) -> int:
        """`work`, and its counts in one line, unless the reader of our output went away."""
        try:
            code = work()
        except PipeClosed:
            raise
        except BaseException:
            self._say(self._line(output))
            raise
        self._say(self._line(output))
        return code

    def _safely(
        self,
        stage: Stage | EachStage,
        records: Iterable[Record],
        output: FileOutput,
        interruption: Interruption,
    ) -> int:
        try:
            code = self._work(stage, records, output, interruption)
            code = code or (7 if output.failed_earlier else 0)
            output.finish(self._story(output, code))
        except BaseException as error:
            with suppress(ProcessingError):  # of a full disk, which `error` is about
                output.leave(self._story(output, exit_code_of(error)))
            if output.kept:
                self._warn(
                    f"{output.kept} records are kept in {output.part}; to go on: {self.plan.again}"
                )
            raise
        if output.untouched:
            failed = f", {output.failed} of them failed" if output.failed else ""
            self._say(f"nothing to do: {output.path} has all {self.tally.skipped} records{failed}")
            return 7 if self.tally.unreadable else 0
        return code

    def _work(
        self,
        stage: Stage | EachStage,
        records: Iterable[Record],
        output: Output,
        interruption: Interruption,
    ) -> int:
        run: Any = run_stage if isinstance(stage, Stage) else run_each
        streams = not is_file(self.plan.output)  # whose reader may keep us waiting for ever
        todo = self._progress.reading(self._todo(records, output))
        for batch in run(stage, todo, self.tally, interruption):
            with nullcontext() if streams else interruption.writing(), aside(streams):
                for record in batch:
                    output.write(record)
                output.flush()
            self._progress.advance(len(batch))
            self._check_errors(output)
        self._check_errors(output, finished=True)
        self._refuse_empty()
        return self.tally.exit_code()

    def _todo(self, records: Iterable[Record], output: Output) -> Iterator[Record]:
        """The records of this shard that are not done."""
        shard = self.plan.shard
        for record in records:
            if shard is not None and record["id"] not in shard:
                self.tally.elsewhere += 1
            elif output.holds(record):
                self.tally.skipped += 1
            else:
                yield record

    def _check_errors(self, output: Output, finished: bool = False) -> None:
        if self.plan.max_errors:
            failed = max(self.tally.failed, output.failed_earlier)
            seen = self.tally.read + self.tally.skipped + self.tally.unreadable
            errors = failed + self.tally.unreadable
            self.plan.max_errors.check(errors, seen, finished=finished)

    def _refuse_empty(self) -> None:
        """An input without a record is what a dead upstream looks like: nothing is renamed."""
        if not self._read and not self.plan.allow_empty:
            raise no_record(self.plan.inputs)

    @property
    def _read(self) -> int:
        return self.tally.read + self.tally.skipped + self.tally.elsewhere

    def _story(self, output: FileOutput, code: int) -> dict[str, Any]:
        """The run as the manifest tells it."""
        tally = self.tally
        return {
            "input": {**self.fingerprint.as_json(), "records": self._read},
            "read": self._read,
            "written": output.count,
            "failed": tally.failed,
            "skipped": tally.skipped,
            "other_shards": tally.elsewhere,
            "passed_on": tally.passed_on,
            "unreadable": tally.unreadable,
            "total": output.total,
            "started": self._began,
            "seconds": round(time.perf_counter() - self._started, _DECIMALS),
            "exit": code,
        }

    def _line(self, output: Output) -> str:
        tally = self.tally
        told = {
            "failed": tally.failed,
            "passed on with an earlier error": tally.passed_on,
            "done before": tally.skipped,
            "of other shards": tally.elsewhere,
            "unreadable": tally.unreadable,
        }
        parts = [f"{self._read} read", f"{output.count} written"]
        parts += [f"{count} {what}" for what, count in told.items() if count]
        return f"{', '.join(parts)}, {time.perf_counter() - self._started:.1f} s"


def no_record(inputs: list[Path]) -> DataError:
    """The error for an input without any record."""
    names = ", ".join("stdin" if str(path) == "-" else str(path) for path in inputs)
    return DataError(
        f"{names or 'input'}: no record at all; did the stage before fail? "
        "(--allow-empty accepts it)"
    )
