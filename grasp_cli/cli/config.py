"""`grasp config`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from grasp_cli.cli.configuration import META_KEY, Configuration, candidates
from grasp_cli.cli.variables import leaves, options
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.log import LOG

_COLUMNS = ("verb", "option", "value", "source")
_DEFAULT = "default"


class ConfigFormat(str, Enum):
    """How the values are written."""

    table = "table"
    json = "json"
    tsv = "tsv"


def config(
    context: typer.Context,
    verb: Annotated[
        str | None,
        typer.Argument(metavar="[VERB]", help="Only this verb's options.", show_default=False),
    ] = None,
    format: Annotated[
        ConfigFormat, typer.Option(help="How the values are written.")
    ] = ConfigFormat.table,
) -> None:
    """Show the value of every option, and where it comes from.

    A value comes from the command line, else from $GRASP_VERB_OPTION or $GRASP_OPTION, else from
    ./grasp.toml, else from ~/.config/grasp/config.toml, else it is the default.

    grasp config compress
    """
    root = context.find_root()
    configuration = context.meta[META_KEY]
    verbs = dict(leaves(root.command))
    if verb is not None and verb not in verbs:
        raise UsageError(f"there is no verb {verb}: choose one of {', '.join(verbs)}")
    chosen = {verb: verbs[verb]} if verb else verbs
    rows = [row for name, command in chosen.items() for row in values(name, command, configuration)]
    if format is ConfigFormat.table:
        _say_files(configuration)
        _say_strangers(root.command)
    typer.echo(written(rows, _COLUMNS, format.value), nl=False)


def values(verb: str, command: Any, configuration: Configuration) -> Iterator[dict[str, Any]]:
    """One row per option: what it is without a word on the command line, and why."""
    for name, option in options(command):
        value, source = effective(verb, option, configuration)
        if source == _DEFAULT and isinstance(option.show_default, str):
            value = option.show_default
        yield {"verb": verb, "option": name, "value": plain(value), "source": source}


def effective(verb: str, option: Any, configuration: Configuration) -> tuple[Any, str]:
    """An option's value without a word on the command line, and where it comes from."""
    if set_variable := variable_set(option):
        return os.environ[set_variable], f"${set_variable}"
    if file := configuration.sources.get((verb, option.name)):
        return configuration.values[verb][option.name], str(file)
    return plain(option.default), _DEFAULT


def variable_set(option: Any) -> str | None:
    """The environment variable that gives the option its value, if one does."""
    return next((name for name in option.envvar or () if os.environ.get(name)), None)


def plain(value: Any) -> Any:
    """A value as text, number, or list of those."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def written(rows: list[dict[str, Any]], columns: tuple[str, ...], format: str) -> str:
    """Rows as aligned text ("table"), or as `report.tables` writes them."""
    if format == "table":
        lines = [list(columns), *([_shown(row[key]) for key in columns] for row in rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
        padded = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
            for line in lines
        )
        return "".join(line.rstrip() + "\n" for line in padded)
    from grasp_cli.report.tables import FORMATS, Column, Table

    return FORMATS[format](Table([Column(key, key, "text") for key in columns], rows))


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    return repr(value) if str(value).isspace() else str(value)


def _say_files(configuration: Configuration) -> None:
    for file in candidates():
        state = "read" if file in configuration.files else "not there"
        LOG.say(f"{file}: {state}")


def _say_strangers(root: Any) -> None:
    """Name variables that look like ours and are not: a slip of the pen, most likely."""
    known = {name for _, command in leaves(root) for _, o in options(command) for name in o.envvar}
    for name in sorted(set(os.environ) - known - {"GRASP_CACHE"}):
        if name.startswith("GRASP_"):
            LOG.say(f"${name} is no variable that grasp knows")
