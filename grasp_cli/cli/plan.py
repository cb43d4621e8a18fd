"""`--dry-run`: what a stage would do, from which settings, with which models; nothing is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from grasp_cli.cli.config import plain, variable_set, written
from grasp_cli.cli.configuration import META_KEY, Configuration
from grasp_cli.cli.variables import leaves, options
from grasp_cli.pipe.masking import masked
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN

_COLUMNS = ("what", "name", "value", "from")
_QUESTION_SHOWN = 60  # characters


@dataclass
class _Asked:
    """The command line of a run that is only to be planned."""

    context: typer.Context | None = None


ASKED = _Asked()


def _remember(context: typer.Context, asked: bool) -> bool:
    ASKED.context = context if asked else None
    return asked


DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        callback=_remember,
        help="Print the plan: settings and where they come from, models, the first record.",
    ),
]


def show(
    records: Iterable[Record],
    *,
    inputs: Iterable[Path],
    output: Path | None,
    models: Mapping[str, str],
    local: Set[str],
    resolved: Mapping[str, Any],
    index: str | None = None,
) -> int:
    """Print the plan on standard output; how many records were read (0 or 1).

    `models` are names by role; `resolved` are values of options, by parameter name, as they were
    settled. Raises what the run would for a missing model of those in `local`, which this process
    would load, and for a first record that cannot be read. No server is asked.
    """
    first = next(iter(records), None)
    rows = [
        *(_row("input", "", "stdin" if path == STDIN else path) for path in inputs),
        *([] if first is None else [_row("first record", first["id"], _summary(first))]),
        _row("output", "", "stdout" if output in (None, STDIN) else _state(Path(str(output)))),
        *([] if index is None else [_row("index", "", index)]),
        *(_row("model", role, _model(name, local)) for role, name in models.items()),
        *_options(resolved),
    ]
    typer.echo(written(rows, _COLUMNS, "table"), nl=False)
    return 0 if first is None else 1


def _row(what: str, name: str, value: Any, source: str = "") -> dict[str, Any]:
    shown = plain(value)
    shown = masked(shown) if isinstance(shown, str) else shown
    return {"what": what, "name": name, "value": shown, "from": source}


def _summary(record: Record) -> str:
    """A question or a document in a few words."""
    text = str(record.get("question", record.get("text", "")))
    shown = text if len(text) <= _QUESTION_SHOWN else text[:_QUESTION_SHOWN] + "…"
    counted = f", {len(record['contexts'])} contexts" if "contexts" in record else ""
    return f"{shown!r}{counted}"


def _state(output: Path) -> str:
    return f"{output} (is there, and would be replaced)" if output.exists() else str(output)


def _model(name: str, local: Set[str]) -> str:
    from grasp_cli.models.description import described

    if name not in local:
        return f"{name}, on a server that was not asked"
    found = described(name)
    return found if name in found else f"{name}: {found}"


def _options(resolved: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every option of the verb that can be configured, its value, and where that comes from."""
    context = ASKED.context
    if context is None:
        return
    root = context.find_root().command
    verb = next(name for name, command in leaves(root) if command is context.command)
    configuration = context.meta.get(META_KEY) or Configuration()
    for name, option in options(context.command):
        value = resolved.get(option.name, context.params.get(option.name))
        if value is None and isinstance(option.show_default, str):
            value = option.show_default
        yield _row("option", name, value, _source(context, verb, option, configuration))


def _source(context: typer.Context, verb: str, option: Any, configuration: Configuration) -> str:
    source = context.get_parameter_source(option.name)
    kind = source.name if source is not None else "DEFAULT"
    if kind == "COMMANDLINE":
        return "command line"
    if kind == "ENVIRONMENT":
        return f"${variable_set(option)}"
    if kind == "DEFAULT_MAP":
        return os.fspath(configuration.sources[verb, option.name])
    return "default"
