"""Which format a file is in, told from what it holds; its name helps only with plain text."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grasp_cli.formats import hub
from grasp_cli.formats.text_files import SUFFIXES
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.json_values import read_objects
from grasp_cli.pipe.records import DOCUMENT_ALIASES, Record
from grasp_cli.pipe.sources import STDIN, looking, start_of

_START = 1 << 16  # bytes that are looked at, of what is not JSON
_LINES = 20
_TEXT_HEADINGS = {"text", *DOCUMENT_ALIASES["text"]}
_OWN = {"context", "evidence", "compression", "retrieval", "reader", "error"}  # of grasp's stages
_QRELS_HEADINGS = {"score", "relevance", "rel", "grade", "label"}


def detect(path: Path, split: str | None = None) -> str | None:
    """The name of the format, or None where there is nothing.

    Raises `DataError`, with the candidates, where it could be several or is none.
    """
    with looking():
        if path != STDIN and path.is_dir():
            return _of_directory(path)
        if hub.is_reference(path):
            _, row = next(hub.rows(path, split), ("", None))
            return None if row is None else _one(_of_object(row), path, row)
        return _of_file(path)


def _of_directory(path: Path) -> str:
    if any((path / name).is_file() for name in ("queries.jsonl", "queries.jsonl.gz")):
        return "beir"
    return "text"


def _of_file(path: Path) -> str | None:
    above = path.parent.parent
    if path.suffix == ".tsv" and path.parent.name == "qrels" and _of_directory(above) == "beir":
        return "beir"
    start = start_of(path, _START)
    if start.startswith(b"PAR1"):
        return "parquet"
    text = start.decode("utf-8-sig", "replace")
    if not text.strip():
        return None
    if text.lstrip()[0] in "{[":
        try:
            _, item = next(read_objects(path), ("", None))
        except DataError:
            if _suffix(path) in SUFFIXES:
                return "text"  # Markdown may begin with a bracket
            raise
        return None if item is None else _one(_of_object(item), path, item)
    lines = text.splitlines()
    whole = lines[:-1] if len(start) == _START else lines
    return _one(_of_lines([line for line in whole if line.strip()][:_LINES], path), path)


def _of_object(item: Record) -> list[str]:
    """The formats whose first object may look like this."""
    if isinstance(item.get("contexts"), list) and _asks(item):
        return ["records"]
    found = [name for name, fits in _OBJECTS.items() if fits(item)]
    if found or not _asks(item):
        return found
    if isinstance(item.get("answer"), list | dict):
        return ["open-qa"]
    gold = isinstance(item.get("answer"), str) and "answers" not in item
    return ["records", "open-qa"] if gold and not _OWN & set(item) else ["records"]


def _asks(item: Record) -> bool:
    return isinstance(item.get("question", item.get("query")), str)


def _inner(item: Record) -> Record:
    """The first of the objects that an object of objects holds."""
    first = next(iter(item.values()), None)
    return first if isinstance(first, dict) else {}


def _is_squad(item: Record) -> bool:
    if "question" in item:
        return isinstance(item.get("context"), str) and isinstance(item.get("answers"), dict)
    return isinstance(item.get("data"), list) or isinstance(item.get("paragraphs"), list)


_OBJECTS: dict[str, Callable[[Record], Any]] = {
    "hotpotqa": lambda item: "question" in item and isinstance(item.get("context"), list | dict),
    "musique": lambda item: "question" in item and isinstance(item.get("paragraphs"), list | dict),
    "dpr": lambda item: "question" in item and isinstance(item.get("ctxs"), list | dict),
    "squad": _is_squad,
    "asqa": lambda item: any(
        "qa_pairs" in value for value in (item, _inner(item), _inner(_inner(item)))
    ),
    "qasper": lambda item: any("qas" in value for value in (item, _inner(item))),
    "contract-nli": lambda item: "documents" in item and "labels" in item,
    "openai-batch": lambda item: "custom_id" in item and bool({"response", "error"} & set(item)),
}


def _of_lines(lines: list[str], path: Path) -> list[str]:
    """The formats whose first lines may look like these."""
    if not lines:
        return []  # one line that does not end
    first = lines[0]
    if first.lstrip().startswith("<"):
        return ["topics"] if any("<top" in line for line in lines) else []
    if all(map(_is_run_line, lines)):
        return ["trec-run"]
    if _are_qrels(lines):
        return ["qrels"]
    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        headings = next(csv.reader([first], delimiter=delimiter), [])
        if len(headings) > 1 and _TEXT_HEADINGS & {one.strip().lower() for one in headings}:
            return [name]
    if all(line.count("\t") == 1 for line in lines):
        return ["topics", "tsv"]
    by_name = _suffix(path)
    if by_name in (".csv", ".tsv"):
        return [by_name[1:]]
    return ["text"] if by_name in SUFFIXES else []


def _is_run_line(line: str) -> bool:
    columns = line.split()
    return len(columns) == 6 and _is_number(columns[3]) and _is_number(columns[4])


def _are_qrels(lines: list[str]) -> bool:
    tabs = lines[0].split("\t")
    if len(tabs) == 3 and tabs[-1].strip().lower() in _QRELS_HEADINGS:
        return True
    columns = [line.split("\t") if line.count("\t") >= 2 else line.split() for line in lines]
    return all(len(row) in (3, 4) and row[-1].strip().lstrip("-").isdigit() for row in columns)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _one(candidates: list[str], path: Path, item: Record | None = None) -> str:
    if len(candidates) == 1:
        return candidates[0]
    name = "stdin" if path == STDIN else str(path)
    if candidates:
        raise DataError(
            f"{name}: could be any of {', '.join(candidates)}: name the format, as in "
            f"grasp convert {candidates[0]} {path}"
        )
    raise DataError(f"{name}: {_none_of_them(item)}")


def _none_of_them(item: Record | None) -> str:
    from grasp_cli.formats import DOCUMENT_FORMATS, FORMATS, JOINED_FORMATS

    names = ", ".join([*FORMATS, *JOINED_FORMATS, *DOCUMENT_FORMATS])
    if item is None:
        return f"no format is recognised here: name one of {names}"
    keys = ", ".join(list(item)[:8]) or "none"
    if "custom_id" in item and "body" in item:
        return "these are the requests of a batch, not its output, which has the answers"
    if _TEXT_HEADINGS & set(item):
        return (
            f"these look like documents (keys: {keys}), which grasp index reads as they are; "
            f"if they are something else, name one of {names}"
        )
    return f"no format is recognised by these keys: {keys}; name one of {names}"


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in (".gz", ".zst") else path).suffix.lower()
