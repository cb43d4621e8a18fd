"""`grasp index`: documents to an index directory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated

import typer

from grasp_cli.cli.options import (
    DEFAULT_INDEX,
    DEFAULT_PROFILE,
    AllowEmpty,
    IndexDirectory,
    Inputs,
    OnError,
    OnErrorOption,
    Profile,
    ProfileOption,
    Quarantine,
    Quiet,
    Stream,
    Threads,
    bad_line_handler,
    fair_threads,
    refuse_empty,
    stderr_is_terminal,
)
from grasp_cli.defaults import INDEX
from grasp_cli.pipe.sources import inputs_or_stdin, read_documents

if TYPE_CHECKING:
    from grasp_cli.retrieval.writer import Progress


class Bm25(str, Enum):
    """Which BM25."""

    lucene = "lucene"
    okapi = "okapi"


class StopWords(str, Enum):
    """Which words BM25 leaves out."""

    none = "none"
    english = "english"


PassageWords = Annotated[
    int,
    typer.Option(min=0, help="Cut longer documents into passages of whole sentences (0: never)."),
]
IndexTitle = Annotated[
    bool, typer.Option("--index-title/--no-index-title", help="Search in titles, too.")
]
Bm25Option = Annotated[
    Bm25 | None,
    typer.Option(
        "--bm25",
        show_default=False,
        help="lucene: word weights never negative (profile embedded); "
        "okapi: as rank-bm25's BM25Okapi (profile paper).",
    ),
]
StopWordsOption = Annotated[
    StopWords, typer.Option("--stop-words", help="Words that BM25 leaves out.")
]
DenseModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|PATH", show_default=False, help="The encoder (default: the profile's)."
    ),
]
_STOP_WORDS = StopWords(INDEX.stop_words)
_BM25_OF = {Profile.embedded: Bm25.lucene, Profile.paper: Bm25.okapi}


def index(
    inputs: Inputs = None,
    directory: IndexDirectory = DEFAULT_INDEX,
    passage_words: PassageWords = INDEX.passage_words,
    index_title: IndexTitle = INDEX.index_title,
    bm25: Bm25Option = None,
    stop_words: StopWordsOption = _STOP_WORDS,
    dense_model: DenseModel = None,
    profile: ProfileOption = DEFAULT_PROFILE,
    threads: Threads = None,
    allow_empty: AllowEmpty = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    quiet: Quiet = False,
) -> None:
    """Make an index of documents, one JSON object {id, title?, text, …} a line.

    The index appears, or replaces the one that was there, only when it is complete.

    grasp index documents.jsonl

    zcat corpus.jsonl.gz | grasp index -x wiki_index --passage-words 100
    """
    from grasp_cli.models.encoder import Encoder
    from grasp_cli.models.locate import find
    from grasp_cli.models.profiles import model_for
    from grasp_cli.retrieval.model import portable_name, weights_sha256
    from grasp_cli.retrieval.replace import refuse_other
    from grasp_cli.retrieval.tokens import Tokenizer
    from grasp_cli.retrieval.writer import Settings, build

    stream = Stream(
        "index",
        inputs_or_stdin(inputs, "index"),
        directory,
        None,
        allow_empty,
        on_error,
        quarantine,
        quiet,
    )
    refuse_other(directory)
    model = dense_model or model_for(profile.value, "dense")
    path = find(model)
    settings = Settings(
        model=portable_name(model),
        sha256=weights_sha256(path),
        profile=profile.value,
        bm25=(bm25 or _BM25_OF[profile]).value,
        passage_words=passage_words,
        index_title=index_title,
        tokenizer=Tokenizer(stop_words.value),
    )
    started = time.perf_counter()
    with ExitStack() as stack:
        documents = read_documents(stream.inputs, bad_line_handler(stream, stack))
        first = list(islice(documents, 1))
        refuse_empty(len(first), stream)
        progress = stack.enter_context(_progress(stream))
        encoder = Encoder(path, threads=fair_threads(threads))
        made = build(chain(first, documents), directory, settings, encoder, progress)
    blank = f" ({made.empty} without text)" if made.empty else ""
    stream.say(
        f"{made.documents} documents{blank}, {made.passages} passages, "
        f"{time.perf_counter() - started:.1f} s: {directory}"
    )
    if stream.bad_lines:
        stream.say(f"{len(stream.bad_lines)} unreadable lines left out")
        raise typer.Exit(7)


@contextmanager
def _progress(stream: Stream) -> Iterator[Progress]:
    """A line on stderr that counts along, where a person looks."""
    if stream.quiet or not stderr_is_terminal():
        yield lambda documents, passages: None
        return
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Line(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task("reading")
        yield lambda documents, passages: line.update(
            task, description=f"{documents} documents, {passages} passages"
        )
