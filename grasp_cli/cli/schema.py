"""`grasp schema`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class SchemaStage(str, Enum):
    """Whose records; a document is what `grasp index` reads, a question what starts the pipe."""

    document = "document"
    question = "question"
    retrieve = "retrieve"
    compress = "compress"
    answer = "answer"
    evaluate = "evaluate"


def schema(
    stage: Annotated[SchemaStage, typer.Argument(help="Whose records.", show_default=False)],
) -> None:
    """Print the JSON Schema (2020-12) of the records that a stage writes.

    grasp schema compress > compress.schema.json
    """
    import orjson

    from grasp_cli.pipe.schema import json_schema

    typer.echo(orjson.dumps(json_schema(stage.value), option=orjson.OPT_INDENT_2).decode())
