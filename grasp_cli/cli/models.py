"""`grasp models`."""

from __future__ import annotations

import os
import sys
from enum import Enum
from functools import cache
from typing import Annotated, Any

import typer

from grasp_cli.cli.options import Profile, Quiet
from grasp_cli.defaults import ANSWER
from grasp_cli.pipe.log import LOG, is_terminal

_COLUMNS = ("profile", "role", "model", "source", "megabytes", "licence", "present", "where")


class ModelsFormat(str, Enum):
    """How the list is written."""

    table = "table"
    json = "json"
    tsv = "tsv"


def models(
    get: Annotated[
        Profile | None,
        typer.Option(
            "--get",
            metavar="PROFILE",
            help=(
                "Bring the models of a profile (embedded, paper) onto this machine; nothing else "
                "in grasp downloads. HF_TOKEN is honoured."
            ),
            show_default=False,
        ),
    ] = None,
    format: Annotated[ModelsFormat, typer.Option(help="How the list is written.")] = (
        ModelsFormat.table
    ),
    quiet: Quiet = False,
) -> None:
    """List the models of each profile, where they are and whether they are here.

    grasp models

    grasp models --get paper
    """

    if get is not None:
        from grasp_cli.models.download import get as get_models

        get_models(get.value, LOG.say)
        return
    from grasp_cli.models.listing import rows

    found = list(rows(cache(_on_ollama)))
    typer.echo(_written(found, format), nl=False)


def _on_ollama() -> frozenset[str] | None:
    from grasp_cli.readers.ollama import models_on

    return models_on(os.environ.get("OLLAMA_HOST") or ANSWER.ollama_url)


def _written(found: list[dict[str, Any]], format: ModelsFormat) -> str:
    if format is ModelsFormat.table:
        return _for_terminal(found) if is_terminal(sys.stdout) else _plain(found)
    from grasp_cli.report.tables import FORMATS, Column, Table

    columns = [Column(key, key, "text") for key in _COLUMNS]
    return FORMATS[format.value](Table(columns, found))


def _cells(row: dict[str, Any]) -> list[str]:
    shown = {
        **row,
        "megabytes": "?" if row["megabytes"] is None else f"{row['megabytes']} MB",
        "present": "yes" if row["present"] else "no",
    }
    return [str(shown[key]) for key in _COLUMNS]


def _headings() -> list[str]:
    return [{"megabytes": "size", "present": "here"}.get(key, key) for key in _COLUMNS]


def _plain(found: list[dict[str, Any]]) -> str:
    lines = [_headings(), *map(_cells, found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    return "".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _for_terminal(found: list[dict[str, Any]]) -> str:
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in _headings():
        table.add_column(heading, overflow="fold")
    for row in found:
        table.add_row(*map(Text, _cells(row)), style="" if row["present"] else "dim")
    text = StringIO()
    Console(file=text, force_terminal=True).print(table)
    return text.getvalue()
