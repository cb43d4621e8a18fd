"""The options that every verb with a job has, given to it as one `Stream`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from grasp_cli.cli.options import (
    AllowEmpty,
    Expect,
    Force,
    Inputs,
    MaxErrorsOption,
    OnError,
    OnErrorOption,
    Output,
    Quarantine,
    Quiet,
    Resume,
    ShardOption,
    Stream,
)
from grasp_cli.cli.plan import DryRun
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.limits import MaxErrors
from grasp_cli.pipe.output import Resuming
from grasp_cli.pipe.shards import Shard
from grasp_cli.pipe.sources import inputs_or_stdin

Verb = Callable[..., None]


def job(*, free: Iterable[str] = (), instead: str | None = None) -> Callable[[Verb], Verb]:
    """Make a verb of a function whose first parameter is `stream: Stream`.

    On the command line it has the options of `_shared` in place of that parameter. `free` are its
    own options that do not decide what is written; `instead` is one that stands for the input.
    """

    def made(verb: Verb) -> Verb:
        own = inspect.signature(verb)
        hints = get_type_hints(verb, include_extras=True)
        given = [
            parameter.replace(annotation=hints[name])
            for name, parameter in own.parameters.items()
            if name != "stream"
        ]
        shared = inspect.signature(_shared, eval_str=True)
        files, *others = shared.parameters.values()

        @wraps(verb)
        def call(**values: Any) -> None:
            options = {name: values.pop(name) for name in shared.parameters}
            replaced = instead is not None and values[instead] is not None
            if replaced and options["files"]:
                raise UsageError(
                    f"-{str(instead)[0]} gives the {instead}, so no FILE is read: "
                    "leave one of them out"
                )
            stream = _stream(verb.__name__, values, frozenset(free), not replaced, **options)
            verb(stream, **values)

        parameters = [files, *given, *others]
        call.__dict__["__signature__"] = own.replace(parameters=parameters)
        call.__annotations__ = {one.name: one.annotation for one in parameters}
        del call.__dict__["__wrapped__"]
        return call

    return made


def _shared(
    files: Inputs = None,
    output: Output = None,
    resume: Resume = False,
    force: Force = False,
    shard: ShardOption = None,
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    max_errors: MaxErrorsOption = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """What all have in common; never called."""


def _stream(
    name: str,
    own: dict[str, Any],
    free: frozenset[str],
    reads: bool,
    *,
    files: list[Path] | None,
    output: Path | None,
    resume: bool,
    force: bool,
    shard: str | None,
    expect: str | None,
    allow_empty: bool,
    on_error: OnError,
    quarantine: Path | None,
    max_errors: str | None,
    dry_run: bool,
    quiet: bool,
) -> Stream:
    return Stream(
        name,
        inputs_or_stdin(files, name) if reads else [],
        output,
        expect,
        allow_empty,
        on_error,
        quarantine,
        quiet,
        Shard.parse(shard) if shard is not None else None,
        MaxErrors.parse(max_errors) if max_errors is not None else None,
        Resuming(resume, force),
        own,
        free,
        dry_run,
    )
