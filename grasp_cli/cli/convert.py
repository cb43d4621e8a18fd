"""`grasp convert`: foreign datasets and files to records or documents, and records back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import typer

from grasp_cli.cli.convert_options import (
    NAMES,
    Columns,
    Corpus,
    Documents,
    FormatName,
    IndexOfRun,
    Limit,
    MaxNewTokens,
    Prompt,
    Questions,
    ReaderModel,
    Sample,
    Seed,
    Split,
    Tag,
    To,
)
from grasp_cli.cli.options import AllowEmpty, Expect, Inputs, Output, Quiet, Stream, refuse_empty
from grasp_cli.formats import (
    DOCUMENT_FORMATS,
    FORMATS,
    JOINED_FORMATS,
    Format,
    JoinedFormat,
    Sources,
    load_document_format,
    load_format,
    load_joined_format,
)
from grasp_cli.formats.base import Writer, documents_of
from grasp_cli.formats.columns import parse_columns
from grasp_cli.formats.hub import is_reference
from grasp_cli.formats.selection import select
from grasp_cli.formats.writers import WRITERS, Writing, make_writer
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.progress import aside, watching
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import STDIN, inputs_or_stdin

RUN = "trec-run"
Choice = Callable[[Iterable[Record]], Iterator[Record]]


@dataclass(frozen=True)
class Reading:
    """What is read, and which of it."""

    name: str
    paths: list[Path]
    choose: Choice
    documents: bool
    split: str | None
    sources: Sources
    columns: dict[str, str] = field(default_factory=dict)


def convert(
    name: FormatName = None,
    inputs: Inputs = None,
    output: Output = None,
    to: To = None,
    documents: Documents = False,
    split: Split = None,
    questions: Questions = None,
    corpus: Corpus = None,
    index: IndexOfRun = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 0,
    columns: Columns = None,
    tag: Tag = "grasp",
    reader_model: ReaderModel = None,
    prompt: Prompt = None,
    max_new_tokens: MaxNewTokens = None,
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    quiet: Quiet = False,
) -> None:
    """Convert a dataset to records with id, question, answers, contexts and evidence_gold.

    hotpotqa reads HotpotQA and 2WikiMultiHopQA, musique MuSiQue, dpr Natural Questions and
    TriviaQA with ctxs, open-qa these without, squad SQuAD and XQuAD, asqa ASQA, qasper QASPER,
    contract-nli ContractNLI, beir a BEIR folder, topics questions alone, records what grasp
    writes. Files may be JSON arrays or lines, plain or compressed; hf:NAME:CONFIG is a dataset of
    the Hugging Face hub. The same passage has the same id in records and documents, also under
    --sample.

    trec-run, qrels and the output of an openai-batch name questions by their ids: --questions says
    where these are. text reads plain text and Markdown files, or directories of them, into
    documents; csv, tsv and parquet read a document a row.

    --to goes the other way: contexts to a run for trec_eval and its like, gold documents to qrels,
    prompts to requests of OpenAI's Batch API. (trec-run without --questions means --to trec-run.)

    grasp convert dev.json --sample 100 -o questions.jsonl

    grasp convert hotpotqa dev.json --sample 100 --documents | grasp index

    grasp convert text handbook/ | grasp index

    grasp retrieve questions.jsonl -k 100 | grasp convert --to trec-run > run.txt

    grasp convert trec-run run.txt --questions topics.txt --corpus corpus.jsonl | grasp compress

    grasp convert compressed.jsonl --to openai-batch --reader-model gpt-4o-mini -o requests.jsonl

    grasp convert openai-batch output.jsonl --questions compressed.jsonl | grasp evaluate
    """
    if to is not None and to not in WRITERS:
        raise UsageError(f"--to {to}: the formats to write are {', '.join(WRITERS)}")
    if name is not None and name not in NAMES:
        _refuse_neither(name)
        inputs = [Path(name), *(inputs or [])]
        name = None
    paths = inputs_or_stdin(inputs, f"convert {name or ''}".strip())
    stream = Stream("convert", paths, output, expect, allow_empty, quiet=quiet)
    sources = Sources(questions, corpus, index)
    if name == RUN and to is None and questions is None and not _is_run(paths[0]):
        name, to = "records", RUN
    given = parse_columns(columns or [])
    reading = Reading(
        name=name or _detected(paths, split, stream),
        paths=paths,
        choose=lambda records: select(_unique(records), limit, sample, seed),
        documents=documents,
        split=split,
        sources=sources,
        columns=given,
    )
    _check(reading, to)
    settings = Writing(tag, reader_model, prompt.value if prompt else None, max_new_tokens)
    if _write(reading, make_writer(to, settings), stream, sampled=sample is not None):
        raise typer.Exit(7)


def _write(reading: Reading, writer: Writer | None, stream: Stream, *, sampled: bool) -> int:
    """Write what is read; the number of records that were given an error."""
    notes, records, joined = _read(reading)
    read = 0

    def counted() -> Iterator[Record]:
        nonlocal read
        for record in progress.reading(records, as_done=True):
            read += 1
            yield record

    with (
        watching() as progress,
        open_sink(stream.output, expect=stream.expect, inputs=stream.inputs) as sink,
    ):
        for item in writer.lines(counted()) if writer else counted():
            with aside(stream.output is None):
                if isinstance(item, str):
                    sink.write_line(item.encode())
                else:
                    sink.write(item)
        refuse_empty(read, stream)
    failed = joined.failed if joined else 0
    documents = reading.documents or reading.name in DOCUMENT_FORMATS
    what = "lines" if writer else "documents" if documents else "records"
    stream.say(f"{sink.count} {what} written" + (f", {failed} without an answer" if failed else ""))
    for note, count in (notes + (writer.notes if writer else Counter())).items():
        stream.say(f"{'before sampling: ' if sampled else ''}{count} {note}")
    return failed


def _read(reading: Reading) -> tuple[Counter[str], Iterator[Record], JoinedFormat | None]:
    """Remarks, complete when the records or documents beside them are used up, and who reads."""
    name, paths, choose = reading.name, reading.paths, reading.choose
    if name in DOCUMENT_FORMATS:
        files = load_document_format(name, reading.columns)
        documents = choose(chain.from_iterable(files.documents(path) for path in paths))
        return files.notes, documents, None
    if name in JOINED_FORMATS:
        joined = load_joined_format(name, reading.sources)
        records = choose(joined.records(paths))
        return joined.notes, documents_of(records) if reading.documents else records, joined
    reader = load_format(name, reading.split)
    if reading.documents:
        return reader.notes, _documents(reader, paths, choose), None
    return reader.notes, choose(_records(reader, paths)), None


def _detected(paths: list[Path], split: str | None, stream: Stream) -> str:
    """The one format of all inputs, said on stderr; of empty ones "records"."""
    from grasp_cli.formats.detect import detect

    found = {path: name for path in paths if (name := detect(path, split))}
    names = list(dict.fromkeys(found.values()))
    if len(names) > 1:
        shown = ", ".join(f"{path} is {name}" for path, name in found.items())
        raise DataError(f"the inputs differ in format ({shown}): convert them one by one")
    if names:
        stream.say(f"the input is {names[0]}")
    return names[0] if names else "records"


def _is_run(path: Path) -> bool:
    from grasp_cli.formats.detect import detect

    return detect(path) == RUN


def _refuse_neither(name: str) -> None:
    """Raise `UsageError` for what is neither a format nor an input."""
    path = Path(name)
    if path != STDIN and not path.exists() and not is_reference(path):
        hub = f" (a dataset of the Hugging Face hub is hf:{name})" if "/" in name else ""
        raise UsageError(
            f'no format "{name}"; the formats are {", ".join(NAMES)}; '
            f"nor is there a file of that name{hub}"
        )


def _check(reading: Reading, to: str | None) -> None:
    """Raise `UsageError` for options that do not go together."""
    name = reading.name
    if reading.columns and name not in DOCUMENT_FORMATS:
        raise UsageError(f"--column is for tables (csv, tsv, parquet), not for {name}")
    if to and reading.documents:
        raise UsageError(f"--documents and {to} contradict each other: leave one of them out")
    if to and name in DOCUMENT_FORMATS:
        raise UsageError(f"--to {to} writes records, and {name} gives documents")
    if reading.split is not None and name not in FORMATS:
        raise UsageError(f"--split is for datasets, not for {name}")
    if name not in JOINED_FORMATS and reading.sources != Sources():
        raise UsageError(
            f"--questions, --corpus and -x are for {', '.join(JOINED_FORMATS)}, not for {name}"
        )


def _records(reader: Format, paths: list[Path]) -> Iterator[Record]:
    return chain.from_iterable(reader.records(path) for path in paths)


def _documents(reader: Format, paths: list[Path], choose: Choice) -> Iterator[Record]:
    corpora = [reader.corpus(path) for path in paths]
    apart = [corpus for corpus in corpora if corpus is not None]
    if apart:
        return choose(chain.from_iterable(apart))
    return documents_of(choose(_records(reader, paths)))


def _unique(records: Iterable[Record]) -> Iterator[Record]:
    seen: set[str] = set()
    for record in records:
        if record["id"] in seen:
            raise DataError(
                f'the id "{record["id"]}" comes twice in the input; '
                "convert the files one by one, or correct the id"
            )
        seen.add(record["id"])
        yield record
