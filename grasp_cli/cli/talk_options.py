"""The options that every verb has: how it talks, and the longest line that it reads.

They are added when verbs are registered (`cli.main`), so that no verb repeats them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Annotated, Any

import typer

from grasp_cli import defaults
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.log import LOG, hush_libraries


class LogFormat(str, Enum):
    """How lines on stderr are written."""

    text = "text"
    json = "json"


ProgressOption = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        show_default=False,
        help="A bar on stderr, or nothing (default: a bar where a person watches, else a line "
        f"every {defaults.PROGRESS.seconds:g} s).",
    ),
]
LogFormatOption = Annotated[
    LogFormat, typer.Option("--log-format", help="Lines on stderr as text or as JSON objects.")
]
MaxLineMb = Annotated[
    int, typer.Option("--max-line-mb", min=1, help="Longest line (or JSON object) to read, in MB.")
]
_READERS = ("inputs", "files")  # what verbs call the files that they read


def with_talk_options(verb: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """`verb` with `--progress`, `--log-format` and, where it reads files, `--max-line-mb`.

    They are in effect before the verb begins, as is its own `--quiet`. `name` is what lines call
    the stage where that is not the verb's own name.
    """
    signature = inspect.signature(verb, eval_str=True)
    added: dict[str, tuple[Any, Any]] = {
        "progress": (ProgressOption, None),
        "log_format": (LogFormatOption, LogFormat.text),
    }
    if any(name in signature.parameters for name in _READERS):
        added["max_line_mb"] = (MaxLineMb, defaults.INPUT.max_line_mb)

    @wraps(verb)
    def talking(**given: Any) -> Any:
        own = {name: given.pop(name) for name in added}
        LOG.start(
            name or verb.__name__,
            quiet=bool(given.get("quiet")),
            as_json=own["log_format"] is LogFormat.json,
            progress=own["progress"],
        )
        LIMITS.line_mb = own.get("max_line_mb", defaults.INPUT.max_line_mb)
        hush_libraries()
        return verb(**given)

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in added.items()
    ]
    talking.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *parameters]
    )
    talking.__annotations__ = {
        name: parameter.annotation
        for name, parameter in talking.__signature__.parameters.items()  # type: ignore[attr-defined]
    }
    return talking
