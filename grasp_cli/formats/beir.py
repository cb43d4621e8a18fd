"""A BEIR folder: `corpus.jsonl`, `queries.jsonl` (each also .gz) and `qrels/*.tsv`.

Records are the queries that have relevance judgements, with the relevant documents (score above
0) as gold evidence; a grade other than 1 is kept as `relevance`. All of `qrels/` is read, or one
split when it is asked for, or its file is named: `grasp convert beir FOLDER/qrels/test.tsv`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from grasp_cli.formats.base import field, question_id
from grasp_cli.formats.qrels import gold_documents, read_qrels
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import read_documents, read_lines

_UNJUDGED = "queries have no relevance judgement: left out"
_NO_QUERY = "judged queries are not among the queries: left out"


class BEIR:
    """One record per judged query; gold evidence is documents."""

    def __init__(self, split: str | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._split = split

    def records(self, path: Path) -> Iterator[Record]:
        """Judged queries, in the order of `queries.jsonl`; all queries where nothing is judged."""
        folder, tables = _parts(path, self._split)
        judgements = read_qrels(tables)
        queries = _member(folder, "queries.jsonl")
        found = 0
        for number, line in read_lines(queries):
            where = f"{queries}:{number}"
            item = json_lines.loads(line, where)
            query = question_id(item, f"q{number}")
            if tables and query not in judgements:
                self.notes[_UNJUDGED] += 1
                continue
            found += 1
            yield _record(query, item, judgements.get(query), where)
        self.notes[_NO_QUERY] += max(0, len(judgements) - found) if tables else 0

    def corpus(self, path: Path) -> Iterator[Record] | None:
        """The documents of the corpus."""
        return read_documents([_member(_parts(path, self._split)[0], "corpus.jsonl")])


def _record(query: str, item: Record, grades: dict[str, int] | None, where: str) -> Record:
    record = {"id": query, "question": field(item, "text", str, where)}
    metadata = item.get("metadata")
    answers = metadata.get("answers") if isinstance(metadata, dict) else None
    if isinstance(answers, list):
        record["answers"] = [str(answer) for answer in answers]
    if grades is not None:
        record["evidence_gold"] = gold_documents(grades)
    return record


def _parts(path: Path, split: str | None) -> tuple[Path, list[Path]]:
    """The folder, and the tables of judgements to read."""
    if path.is_dir():
        tables = sorted((path / "qrels").glob("*.tsv"))
        chosen = [table for table in tables if split in (None, table.stem)]
        if split and not chosen:
            there = ", ".join(table.stem for table in tables) or "none"
            raise DataError(f'{path}: there is no split "{split}" in qrels/; there are: {there}')
        return path, chosen
    if path.suffix == ".tsv" and split in (None, path.stem):
        return path.parent.parent, [path]
    raise UsageError(f"{path}: beir reads a folder (or one file in its qrels/), not this")


def _member(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise DataError(f"{folder}: there is no {name} or {name}.gz; is this a BEIR folder?")
