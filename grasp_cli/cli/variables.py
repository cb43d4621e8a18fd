"""Options by the names that configuration files and environment variables know them under."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup

# What says what one run is to do, not how: it stands on the command line only.
COMMAND_LINE_ONLY = frozenset(
    {
        "help",
        "version",
        "output",
        "expect",
        "question",
        "get",
        "append",
        "delete-ids",
        "resume",
        "verify",
        "stats",
        "html",
        "id",
        "limit",
        "dry-run",
        "force",
        "shard",
        "gold",
        "label",
        "stage",
    }
)
_TAKEN = frozenset({"GRASP_CACHE"})  # where converted models are kept, not an option


class _Names(list[str]):
    """Names of environment variables, as an error message of the option parser shows them."""

    def __str__(self) -> str:
        return " or ".join(self)


class Verbs(TyperGroup):
    """The verbs, each option with its environment variables.

    `GRASP_VERB_OPTION` is for one verb, `GRASP_OPTION` for every verb that has such an option; the
    first of the two that is set and not empty counts.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for verb, command in leaves(self):
            for name, option in options(command):
                own = [option.envvar] if isinstance(option.envvar, str) else []
                given = [variable(verb, name), variable("", name), *own]
                option.envvar = _Names(dict.fromkeys(v for v in given if v not in _TAKEN))


def leaves(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """(verb, command) of all commands; a command of a group below is called "group command"."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield above + name, command


def options(command: Any) -> Iterator[tuple[str, Any]]:
    """(name, option) of what may be configured; the name is the long one, without dashes."""
    for option in command.params:
        if option.param_type_name == "option":
            name = max(option.opts, key=len).lstrip("-")
            if name not in COMMAND_LINE_ONLY:
                yield name, option


def variable(verb: str, name: str) -> str:
    """The environment variable of an option of `verb`, or ("") of any verb."""
    return "_".join(["GRASP", *verb.split(), name]).replace("-", "_").upper()
