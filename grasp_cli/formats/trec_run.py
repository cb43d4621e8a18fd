"""TREC runs, `query Q0 document rank score tag` a line: written from records, and read.

trec_eval sorts by score, ties by document id, and reads scores as 32-bit floats. So that it sees
the ranking of the record, a score that does not lie below the one before is lowered by as little
as such a float can be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grasp_cli.evaluation.retrieved import document_ranking
from grasp_cli.formats.trec_names import trec_name
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, read_lines

_SPACED = "ids hold white space, which a TREC run cannot: written with %20"
_FAILED = "records have an error: left out"
_EMPTY = "records have no contexts: nothing to write"


class TrecRun:
    """Lines of a run; a document stands where the first of its passages does.

    Raises `UsageError` for a `tag`, the name of the system, that the format cannot hold.
    """

    def __init__(self, tag: str) -> None:
        if tag.split() != [tag]:
            raise UsageError(f'--tag "{tag}": a name without spaces is needed')
        self.notes: Counter[str] = Counter()
        self._tag = tag

    def lines(self, records: Iterable[Record]) -> Iterator[str]:
        """The lines of all records, in their order, without line ends."""
        for record in records:
            if "error" in record:
                self.notes[_FAILED] += 1
                continue
            contexts = record.get("contexts") or []
            self.notes[_EMPTY] += not contexts
            query = self._name(record["id"])
            for rank, (document, score) in enumerate(_falling(contexts), start=1):
                yield f"{query} Q0 {self._name(document)} {rank} {score} {self._tag}"

    def _name(self, identity: str) -> str:
        name = trec_name(identity)
        self.notes[_SPACED] += name != identity
        return name


def read_run(paths: Iterable[Path]) -> dict[str, dict[str, float]]:
    """The scores of all files, query -> document -> score, best first as trec_eval sees them.

    It sorts by score; where scores are equal, the rank that the line gives decides here. Raises
    `DataError` for a line that is none of a run, and for a document that comes twice.
    """
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for path in paths:
        name = "stdin" if path == STDIN else str(path)
        for number, line in read_lines(path):
            where = f"{name}:{number}"
            query, document, rank, score = _fields(line, where)
            documents = found.setdefault(query, {})
            if document in documents:
                raise DataError(f'{where}: document "{document}" comes twice for query "{query}"')
            documents[document] = (-score, rank)
    return {
        query: {
            document: -places[document][0] for document in sorted(places, key=places.__getitem__)
        }
        for query, places in found.items()
    }


def _fields(line: bytes, where: str) -> tuple[str, str, int, float]:
    """Query, document, rank and score of a line."""
    try:
        query, _, document, rank, score, _ = line.decode().split()
        value = float(score)
        if not math.isfinite(value):
            raise ValueError
        return query, document, int(rank), value
    except ValueError:
        raise DataError(
            f"{where}: expected query id, Q0, document id, rank, score and the name of a system "
            f"between spaces: {line.decode('utf-8', 'replace')[:60]}"
        ) from None


def _falling(contexts: list[Record]) -> Iterator[tuple[str, str]]:
    """Each document with the score of its first passage, as text, every one below the last."""
    ranking = document_ranking(contexts)
    scores = {context.get("doc_id") or context["id"]: context for context in reversed(contexts)}
    given = [scores[document].get("score") for document in ranking]
    if not all(map(_is_number, given)):
        given = [1 / rank for rank in range(1, len(given) + 1)]
    last = np.float32(np.inf)
    for document, score in zip(ranking, given, strict=True):
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield document, str(last)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
