"""Relevance judgements (qrels) as TREC and BEIR write them.

TREC: query, iteration, document and grade, between white space. BEIR: query, document and grade
between tabs, under a line of headings. Ids that hold spaces need the tabs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, read_lines

Judgements = dict[str, dict[str, int]]  # query id -> document id -> grade
_GRADE_HEADINGS = {"score", "relevance", "rel", "grade", "label"}


def read_qrels(paths: Iterable[Path]) -> Judgements:
    """The judgements of all files, queries and documents in their order.

    Raises `DataError` for a line that cannot be read, and for two grades of one document.
    """
    judgements: Judgements = {}
    for path in paths:
        for position, (number, line) in enumerate(read_lines(path)):
            where = f"{'stdin' if path == STDIN else path}:{number}"
            columns = _columns(line, where)
            if position == 0 and columns[-1].strip().lower() in _GRADE_HEADINGS:
                continue
            query, document, grade = _judgement(columns, where)
            known = judgements.setdefault(query, {}).setdefault(document, grade)
            if known != grade:
                raise DataError(
                    f'{where}: document "{document}" of query "{query}" has grade {grade} here '
                    f"and {known} before; leave one of the lines out"
                )
    return judgements


def _columns(line: bytes, where: str) -> list[str]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise DataError(f"{where}: not UTF-8; grasp reads UTF-8") from None
    return text.split("\t") if text.count("\t") >= 2 else text.split()


def _judgement(columns: list[str], where: str) -> tuple[str, str, int]:
    try:
        query, *iteration, document, grade = columns
        if len(iteration) > 1 or not query or not document:
            raise ValueError
        return query, document, int(grade)
    except ValueError:
        raise DataError(
            f"{where}: expected query id, document id and a whole number between tabs (BEIR), or "
            f"query id, 0, document id and a whole number (TREC): {' '.join(columns)[:60]}"
        ) from None


def gold_documents(grades: Mapping[str, int]) -> list[Record]:
    """Relevant documents (grade above 0) as `evidence_gold`; a grade other than 1 is kept."""
    return [
        {"id": document} if grade == 1 else {"id": document, "relevance": grade}
        for document, grade in grades.items()
        if grade > 0
    ]
