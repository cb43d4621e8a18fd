"""`grasp merge`: shards to one file, in the order of their input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from grasp_cli.cli.options import (
    AllowEmpty,
    Expect,
    OnError,
    OnErrorOption,
    Output,
    Quarantine,
    Quiet,
    Stream,
    bad_line_handler,
    refuse_empty,
)
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.manifest import Manifest, differences
from grasp_cli.pipe.sinks import is_file, open_sink
from grasp_cli.pipe.sources import read_records


def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD…", help="What the runs with --shard wrote.")
    ],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "-i",
            "--input",
            metavar="FILE",
            show_default="as the shards' manifests say",
            help="What the shards were made from, in their order (repeatable).",
        ),
    ] = None,
    output: Output = None,
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also shards that were made with different options."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Put the shards of a stage together, in the order of the input; none missing, none twice.

    grasp compress --shard 1/2 retrieved.jsonl -o part1.jsonl

    grasp compress --shard 2/2 retrieved.jsonl -o part2.jsonl

    grasp merge part1.jsonl part2.jsonl -o compressed.jsonl
    """
    from grasp_cli.pipe.merging import merged

    started = time.perf_counter()
    recipe = _recipe(shards, force)
    sources = inputs or _sources(shards)
    stream = Stream(
        "merge", sources, output, expect, allow_empty, on_error, quarantine, quiet=quiet
    )
    with ExitStack() as stack:
        handler = bad_line_handler(stream, stack)
        first = True

        def ids() -> Iterator[str]:
            nonlocal first
            on_bad_line, first = (handler if first else lambda bad: None), False
            return (record["id"] for record in read_records(sources, on_bad_line))

        lines = merged(shards, ids)
        sink = stack.enter_context(open_sink(output, expect=expect, inputs=[*sources, *shards]))
        for line in lines:
            sink.write_record(line)
        refuse_empty(sink.count, stream)
        if recipe and output is not None and is_file(output):
            Manifest(recipe, True, 0, _story(shards, sink.count, started)).write(output)
    stream.say(
        f"{sink.count} records of {len(shards)} shards, {time.perf_counter() - started:.1f} s"
    )
    if stream.bad_lines:
        raise typer.Exit(7)


def _recipe(shards: list[Path], force: bool) -> dict[str, Any] | None:
    """How the shards were made, without their number; None where one does not say."""
    found: list[dict[str, Any]] = []
    for path in shards:
        manifest = Manifest.read(path)
        if manifest is None:
            return None
        if not manifest.complete:
            raise DataError(f"{path}: its run is not finished: finish it with --resume first")
        found.append({**manifest.recipe, "shard": None})
        if not force and (differing := list(differences(found[-1], found[0]))):
            raise UsageError(
                f"{path} was made otherwise than {shards[0]} ({'; '.join(differing)}): make it "
                "again, or merge with --force"
            )
    return found[0]


def _sources(shards: list[Path]) -> list[Path]:
    """The input that the shards' manifests name."""
    manifests = [Manifest.read(path) for path in shards]
    named = {tuple(one.run.get("input", {}).get("files", ())) for one in manifests if one}
    files = [Path(name) for name in named.pop()] if len(named) == 1 else []
    if not files or not all(path.is_file() for path in files):
        raise UsageError("name the file that the shards were made from: -i FILE")
    return files


def _story(shards: list[Path], count: int, started: float) -> dict[str, Any]:
    return {
        "shards": [str(path) for path in shards],
        "written": count,
        "total": count,
        "seconds": round(time.perf_counter() - started, 3),
        "exit": 0,
    }
