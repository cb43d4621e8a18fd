"""The options of another verb, given in a file: checked as its command line checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import typer

from grasp_cli.experiment.tables import refuse_unknown
from grasp_cli.pipe.errors import UsageError

# What belongs to the stream of a run, or to the one who runs it, and not to what is computed.
_NOT_HERE = {
    "inputs", "files", "output", "expect", "allow_empty", "on_error", "quarantine", "quiet",
    "max_errors", "shard", "force", "threads", "latency", "directory", "question", "append",
    "delete_ids", "resume", "verify", "stats", "dry_run",
}  # fmt: skip


def checked(verb: Callable[..., None], options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """All options of `verb` by parameter name, those not given at their defaults.

    Names are those of the command line, without the two dashes. Raises `UsageError` for a name
    that the verb does not have and for a value that it refuses.
    """
    command = _command(verb)
    known = {
        option.removeprefix("--"): parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name not in _NOT_HERE
        for option in parameter.opts
        if option.startswith("--") and parameter.name != "help"
    }
    refuse_unknown(options, known, where)
    given = [
        argument
        for name, value in options.items()
        for argument in _arguments(name, value, known[name], where)
    ]
    try:
        context = command.make_context(verb.__name__, given)
    except typer.BadParameter as error:
        raise UsageError(f"{where}: {error.format_message()}") from None
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in context.params.items()
        if name not in _NOT_HERE
    }


def _command(verb: Callable[..., None]) -> Any:
    app = typer.Typer(add_completion=False)
    app.command()(verb)
    return typer.main.get_command(app)


def _arguments(name: str, value: Any, parameter: Any, where: str) -> list[str]:
    """One option as the command line has it."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise UsageError(f"{where}: {name} must be true or false, not {value!r}")
        off = [option for option in parameter.secondary_opts if option.startswith("--")]
        return [f"--{name}"] if value else off[:1]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: {name} must be a number or a string, not {value!r}")
    return [f"--{name}={value}"]
