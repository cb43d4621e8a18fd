"""Write the rankings of records as a TREC run: `query Q0 document rank score tag` a line.

trec_eval sorts by score, ties by document id, and reads scores as 32-bit floats. So that it sees
the ranking of the record, a score that does not lie below the one before is lowered by as little
as such a float can be.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import numpy as np

from grasp_cli.evaluation.retrieved import document_ranking
from grasp_cli.pipe.records import Record

_SPACE = re.compile(r"\s")
_SPACED = "ids hold white space, which a TREC run cannot: written with %20"
_FAILED = "records have an error: left out"
_EMPTY = "records have no contexts: nothing to write"


class TrecRun:
    """Lines of a run; a document stands where the first of its passages does."""

    def __init__(self, tag: str) -> None:
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
        spaced = bool(_SPACE.search(identity))
        self.notes[_SPACED] += spaced
        return _SPACE.sub(lambda found: quote(found[0]), identity) if spaced else identity


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
