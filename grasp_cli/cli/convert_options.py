"""The options of `grasp convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.answer import PromptStyle
from grasp_cli.defaults import ANSWER
from grasp_cli.formats import DOCUMENT_FORMATS, FORMATS, JOINED_FORMATS
from grasp_cli.formats.writers import WRITERS

NAMES = (*FORMATS, *JOINED_FORMATS, *DOCUMENT_FORMATS)

FormatName = Annotated[
    str | None,
    typer.Argument(
        metavar="[FORMAT]",
        help=f"One of: {', '.join(NAMES)}. Left out, it is told from the first file.",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="NAME",
        show_default=False,
        help=f"Write this instead of records: {', '.join(WRITERS)}.",
    ),
]
Documents = Annotated[
    bool,
    typer.Option(
        "--documents",
        help="Write the distinct passages, for grasp index, instead of the questions.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="The part of a dataset (train, dev, validation …), where it comes in several.",
    ),
]
Questions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help=(
            "Of a trec-run, qrels or openai-batch: the questions it names by id (records, BEIR "
            "queries, TREC topics, or id and question between tabs)."
        ),
    ),
]
Corpus = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Of a trec-run: the documents it names by id, as JSON lines.",
    ),
]
IndexOfRun = Annotated[
    Path | None,
    typer.Option(
        "-x",
        "--index",
        metavar="DIR",
        show_default=False,
        help="Of a trec-run: the index that has its documents, in place of --corpus.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default=False,
        help="Read only the first N questions (or documents).",
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default=False,
        help="Take N questions at random (of the first --limit), in the order of the input.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="S", help="Seed of --sample.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="KEY=COLUMN",
        show_default=False,
        help="Of a table: which column is id, title or text, as in text=body (repeatable).",
    ),
]
Tag = Annotated[
    str, typer.Option("--tag", metavar="NAME", help="The name of the system in a trec-run.")
]
ReaderModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Of --to openai-batch: the model that will answer.",
    ),
]
Prompt = Annotated[
    PromptStyle | None,
    typer.Option(
        show_default=ANSWER.prompt,
        help="Of --to openai-batch: ask for the shortest answer, or for a sentence.",
    ),
]
MaxNewTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default=False,
        help=(
            f"Of --to openai-batch: longest answer (default: {ANSWER.max_new_tokens}, natural: "
            f"{ANSWER.natural_max_new_tokens})."
        ),
    ),
]
