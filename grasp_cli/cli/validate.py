"""`grasp validate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grasp_cli.cli.options import AllowEmpty, Inputs, Quiet, Stream, refuse_empty
from grasp_cli.cli.schema import SchemaStage
from grasp_cli.defaults import VALIDATE
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.sources import STDIN, inputs_or_stdin, read_lines

if TYPE_CHECKING:
    from grasp_cli.pipe.validation import Fault, Validator


def validate(
    files: Inputs = None,
    stage: Annotated[
        SchemaStage, typer.Option("--stage", help="Whose records they should be.")
    ] = SchemaStage.question,
    first: Annotated[
        int, typer.Option("--first", min=1, help="Print no more faults than this.")
    ] = VALIDATE.first,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Check records against their schema; print the first faults and exit with 4 where any are.

    Beyond the schema: ids that were used before, and evidence that is not the slice of a context
    that it says it is.

    grasp validate compressed.jsonl --stage compress
    """
    from grasp_cli.pipe.validation import Validator

    stream = Stream(
        "validate", inputs_or_stdin(files, "validate"), allow_empty=allow_empty, quiet=quiet
    )
    validator = Validator(stage.value)
    records = faulty = printed = 0
    for path in stream.inputs:
        for where, faults in _checked(path, validator):
            records += 1
            faulty += bool(faults)
            for fault in faults[: max(first - printed, 0)]:
                typer.echo(f"{where}: {fault.path}: {fault.what}")
                printed += 1
    refuse_empty(records, stream)
    if faulty:
        raise DataError(
            f"{faulty} of {records} records are not what grasp schema {stage.value} describes"
        )
    stream.say(f"{records} records, all as grasp schema {stage.value} describes")


def _checked(path: Path, validator: Validator) -> Iterator[tuple[str, list[Fault]]]:
    """("file:line", what is wrong with it) of every line that is not blank."""
    from grasp_cli.pipe.validation import Fault

    name = "stdin" if path == STDIN else str(path)
    for number, line in read_lines(path):
        where = f"{name}:{number}"
        try:
            value = json_lines.loads(line, where)
        except DataError as error:
            yield where, [Fault("the line", str(error).removeprefix(f"{where}:"))]
        else:
            yield where, list(validator.faults(value, where))
