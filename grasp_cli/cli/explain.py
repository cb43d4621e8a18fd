"""`grasp explain`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grasp_cli.cli.options import (
    DEFAULT_INDEX,
    AllowEmpty,
    IndexDirectory,
    Inputs,
    Quiet,
    Stream,
    refuse_empty,
)
from grasp_cli.defaults import TREE
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.log import is_terminal
from grasp_cli.pipe.progress import aside, watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import inputs_or_stdin, read_records

if TYPE_CHECKING:
    from grasp_cli.report.tree_lines import Search
    from grasp_cli.retrieval.store import Index

_PLAIN_WIDTH = 100  # columns where no terminal says its own


def explain(
    files: Inputs = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write one self-contained HTML page here instead; - is standard output.",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", metavar="ID", show_default=False, help="Only this record (repeatable)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, show_default="all", help="Only the first N records.")
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="DOC_ID",
            show_default=False,
            help="Draw this document's tree of an index --with-tree instead; no FILE is read.",
        ),
    ] = None,
    directory: IndexDirectory = DEFAULT_INDEX,
    question: Annotated[
        str | None,
        typer.Option(
            "-q",
            "--question",
            show_default=False,
            help="With --tree: show which way the beam goes for this question.",
        ),
    ] = None,
    beam: Annotated[
        int, typer.Option(min=1, help="With --tree: nodes that go on to the next level.")
    ] = TREE.beam,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Show what grasp compress kept and dropped of each record, sentence by sentence, and why.

    Scores and reasons need grasp compress --explain; without it the kept text is shown among what
    was dropped.

    grasp retrieve -q "Who built the bridge?" | grasp compress --explain | grasp explain

    grasp explain answered.jsonl --id q7 --html q7.html

    grasp explain --tree report-1911 -q "Who built the bridge?"
    """
    if tree is not None:
        if files or ids or limit:
            raise UsageError("--tree draws a tree of the index, so no FILE is read: leave it out")
        _draw(directory, tree, question, beam, html, quiet)
        return
    if question is not None:
        raise UsageError("-q is of --tree: say which document, --tree DOC_ID")
    stream = Stream("explain", inputs_or_stdin(files, "explain"), html, None, allow_empty)
    with watching(stream.inputs) as progress:
        records = progress.reading(read_records(stream.inputs, took=progress.took), as_done=True)
        chosen = _chosen(records, ids or [], limit)
        shown = _write_page(stream, chosen) if html else _write_lines(stream, chosen)
    refuse_empty(shown, stream)
    if html and not quiet:
        stream.say(f"{shown} records: {html}")


def _draw(
    directory: Path, name: str, question: str | None, beam: int, html: Path | None, quiet: bool
) -> None:
    """Draw the tree of a document, with the way of a beam where there is a question."""
    from grasp_cli.report.tree_lines import drawn
    from grasp_cli.report.tree_page import tree_page
    from grasp_cli.report.tree_terminal import tree_for_terminal
    from grasp_cli.retrieval.store import Index

    index = Index(directory)
    place = index.trees.place(name)
    if place is None:
        raise DataError(
            f"--tree: {directory} has no document {name!r} with text; an id is that of the "
            "document, as doc_id in contexts"
        )
    search = None
    if question is not None:
        if not question.strip():
            raise UsageError("-q: the question is empty")
        search = _traced(index, place, question, beam)
    seen = drawn(index.trees.document(place), index.trees.tree(place), search)
    with open_sink(html) as sink:
        if html:
            for part in tree_page(seen):
                sink.write_line(part.encode("utf-8", "replace"))
        else:
            styled = is_terminal(sys.stdout) and "NO_COLOR" not in os.environ
            width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
            lines = tree_for_terminal(seen, width, styled=styled)
            sink.write_line(lines.rstrip("\n").encode("utf-8", "replace"))
    if html and not quiet:
        Stream("explain", [], html).say(f"{len(seen.lines)} nodes: {html}")


def _traced(index: Index, place: int, question: str, beam: int) -> Search | None:
    from grasp_cli.report.tree_lines import Search
    from grasp_cli.retrieval.model import encoder_of
    from grasp_cli.retrieval.tree.building import unit
    from grasp_cli.retrieval.tree.models import question_encoder
    from grasp_cli.retrieval.tree.search import TreeSearch

    own = question_encoder(index)
    encoder = own() if own else encoder_of(index)
    vector = unit(encoder.embed([question]))[0]
    scores, kept = TreeSearch(index.trees, beam=beam).traced(vector, place)
    return Search(question, scores, kept) if scores else None


def _chosen(records: Iterable[Record], ids: list[str], limit: int | None) -> Iterator[Record]:
    """Records with those ids (all, where none is given), and no more than `limit`."""
    wanted, count = set(ids), 0
    for record in records:
        if ids and record["id"] not in wanted:
            continue
        yield record
        wanted.discard(record["id"])
        count += 1
        if count == limit or (ids and not wanted):
            break
    if wanted and count != limit:
        raise DataError(f"--id: no record is called {', '.join(map(repr, sorted(wanted)))}")


def _write_lines(stream: Stream, records: Iterable[Record]) -> int:
    from grasp_cli.report.explain_terminal import LEGEND, for_terminal

    styled = is_terminal(sys.stdout) and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    count = 0
    with open_sink(None) as sink:
        for record in records:
            count += 1
            told = for_terminal(record, width, styled=styled).encode("utf-8", "replace")
            with aside(to_terminal=True):
                sink.write_line(told)
                sink.flush()
        if count:
            sink.write_line(LEGEND.encode())
    return count


def _write_page(stream: Stream, records: Iterable[Record]) -> int:
    from grasp_cli.report.explain_page import page

    seen = list(records)
    with open_sink(stream.output, inputs=stream.inputs) as sink:
        for part in page(seen):
            sink.write_line(part.encode("utf-8", "replace"))
        refuse_empty(len(seen), stream)
    return len(seen)
