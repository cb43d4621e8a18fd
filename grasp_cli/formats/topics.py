"""Questions by themselves: TREC topics, BEIR's `queries.jsonl`, `id<tab>question` a line, records.

Of a topic the question is `<question>`, else `<title>`, else `<query>`; its description and
narrative are kept as `description` and `narrative`. Both the old form, whose fields are not
closed, and XML are read.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record, to_record
from grasp_cli.pipe.sources import (
    STDIN,
    damage_explained,
    looking,
    open_binary,
    read_lines,
    start_of,
)

_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>", re.DOTALL | re.IGNORECASE)
_NAMES = ("num", "title", "question", "query", "desc", "description", "narr", "narrative")
_FIELD = re.compile(
    rf"<({'|'.join(_NAMES)})\b[^>]*>(.*?)(?=</?(?:{'|'.join(_NAMES)})\b|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
_NUMBER = re.compile(r"""\b(?:number|num|id)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_HEADINGS = {"id", "_id", "qid", "query_id", "query-id", "question_id"}
_KEPT = {"desc": "description", "narr": "narrative"}


class Topics:
    """One record per question, which has nothing else."""

    def __init__(self, split: str | None = None) -> None:
        self.notes: Counter[str] = Counter()
        if split is not None:
            raise UsageError(f"--split {split}: topics have no splits")

    def records(self, path: Path) -> Iterator[Record]:
        """Questions in the order of the file."""
        return read_questions(path)

    def corpus(self, path: Path) -> Iterator[Record] | None:
        """None: there are no documents."""
        return None


def read_questions(path: Path) -> Iterator[Record]:
    """The questions of a file, as records with other keys kept.

    Raises `DataError` for what is none of the four layouts.
    """
    with looking():
        start = start_of(path, 1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"<":
        return _topics(path)
    return _lines(path) if start == b"{" else _rows(path)


def _lines(path: Path) -> Iterator[Record]:
    for count, (number, line) in enumerate(read_lines(path), start=1):
        where = f"{_name(path)}:{number}"
        item = json_lines.loads(line, where)
        if isinstance(item, dict) and not {"question", "query"} & set(item) and "text" in item:
            item = {"question" if key == "text" else key: value for key, value in item.items()}
            if not item.get("metadata"):
                item.pop("metadata", None)
        yield to_record(item, where, count)


def _rows(path: Path) -> Iterator[Record]:
    for position, (number, line) in enumerate(read_lines(path)):
        identity, tab, question = _decoded(line, path).partition("\t")
        if position == 0 and identity.strip().lower() in _HEADINGS:
            continue
        if not (identity.strip() and tab and question.strip()):
            raise DataError(
                f"{_name(path)}:{number}: expected id, tab and question (or TREC topics, or JSON "
                f"lines): {identity[:60]}"
            )
        yield {"id": identity.strip(), "question": question.strip()}


def _topics(path: Path) -> Iterator[Record]:
    with open_binary(path) as stream, damage_explained(path):
        text = _decoded(stream.read(), path)
    for count, topic in enumerate(_TOPIC.finditer(text), start=1):
        fields = {name.lower(): _plain(value) for name, value in _FIELD.findall(topic[2])}
        number = _NUMBER.search(topic[1])
        identity = number[1] if number else fields.pop("num", "")
        found = (fields.pop(name, "") for name in ("question", "title", "query"))
        question = next(filter(None, found), "")
        if not identity or not question:
            raise DataError(
                f"{_name(path)}: topic {count} lacks {'a question' if identity else 'a number'}; "
                "a topic has <num> and <title>, or number=… and <query>"
            )
        kept = {_KEPT.get(name, name): value for name, value in fields.items() if value}
        yield {"id": identity, "question": question, **kept}


def _plain(value: str) -> str:
    return " ".join(html.unescape(_LABEL.sub("", value)).split())


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{_name(path)}: not UTF-8 ({error.reason}); grasp reads UTF-8") from None


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)
