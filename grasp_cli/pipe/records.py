"""The record contract: what a record must hold, and the other names it may come under.

Checked once, here, when a record enters a process; nothing further in checks again. Aliases are
renamed in place, so that keys keep their order, and every key that is not ours stays untouched.
"""

from __future__ import annotations

from typing import Any

from grasp_cli.pipe.errors import DataError

Record = dict[str, Any]

ALIASES = {
    "id": ("_id", "qid", "custom_id"),
    "question": ("query",),
    "contexts": ("ctxs", "docs", "passages", "documents"),
}
DOCUMENT_ALIASES = {"id": ("_id", "doc_id"), "text": ("contents",)}
CONTEXT_ALIASES = {"id": ("_id",), "text": ("contents", "paragraph_text")}


def to_record(value: Any, where: str, number: int) -> Record:
    """Check one parsed line and give its keys their names.

    `where` is "file:line" for messages; a record without an id becomes `q<number>`.
    """
    record = _renamed(_mapping(value, where, "record"), ALIASES)
    record = _with_id(record, where, f"q{number}")
    if not isinstance(record.get("question"), str):
        raise DataError(f'{where}: a record needs "question" as a string; keys: {_keys(record)}')
    if "error" in record:
        record = _with_error(record, where)
    if "contexts" in record:
        record["contexts"] = _contexts(record["contexts"], where)
    for key in ("answers", "evidence_gold"):
        if not isinstance(record.get(key, []), list):
            raise DataError(f'{where}: "{key}" must be a list')
    return record


def trace_of(record: Record, key: str) -> Record:
    """What a stage left under `key`; nothing where there is none, or somebody else's value."""
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def to_document(value: Any, where: str, number: int) -> Record:
    """Check one document: `{id, title?, text, …}`; without an id it becomes `d<number>`."""
    document = _renamed(_mapping(value, where, "document"), DOCUMENT_ALIASES)
    document = _with_id(document, where, f"d{number}")
    if not isinstance(document.get("text"), str):
        raise DataError(f'{where}: a document needs "text" as a string; keys: {_keys(document)}')
    if not isinstance(document.get("title") or "", str):
        raise DataError(f'{where}: "title" must be a string')
    return document


def _mapping(value: Any, where: str, what: str) -> Record:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        raise DataError(
            f"{where}: a JSON array where one {what} a line was expected; "
            "convert it: jq -c '.[]' FILE"
        )
    raise DataError(f"{where}: a {what} must be a JSON object, not {type(value).__name__}")


def _renamed(record: Record, names: dict[str, tuple[str, ...]]) -> Record:
    chosen: dict[str, str] = {}
    for name, aliases in names.items():
        if name not in record:
            found = next((alias for alias in aliases if alias in record), None)
            if found is not None:
                chosen[found] = name
    return {chosen.get(key, key): value for key, value in record.items()} if chosen else record


def _with_id(record: Record, where: str, default: str) -> Record:
    given = record.get("id")
    if isinstance(given, str) and given:
        return record
    if given is None or given == "":
        rest = {key: value for key, value in record.items() if key != "id"}
        return {"id": default, **rest}
    if isinstance(given, int) and not isinstance(given, bool):
        return {**record, "id": str(given)}
    raise DataError(f'{where}: "id" must be a string or an integer')


def _with_error(record: Record, where: str) -> Record:
    """A failure is an object, as a stage writes it; null, as some programs write it, is none."""
    if record["error"] is None:
        return {key: value for key, value in record.items() if key != "error"}
    if not isinstance(record["error"], dict):
        raise DataError(f'{where}: "error" must be an object, as a stage of grasp writes it')
    return record


def _contexts(value: Any, where: str) -> list[Record]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise DataError(f'{where}: "contexts" must be a list of objects or strings')
    contexts = [_context(item, position, where) for position, item in enumerate(value)]
    _refuse_equal_ids(contexts, where)
    return contexts


def _context(item: Any, position: int, where: str) -> Record:
    if isinstance(item, str):
        return {"id": str(position), "text": item}
    if not isinstance(item, dict):
        raise DataError(f"{where}: contexts[{position}] must be an object or a string")
    context = _with_id(_renamed(item, CONTEXT_ALIASES), where, str(position))
    if not isinstance(context.get("text"), str):
        raise DataError(
            f'{where}: contexts[{position}] needs "text" as a string; keys: {_keys(context)}'
        )
    if not isinstance(context.get("title") or "", str):
        raise DataError(f'{where}: contexts[{position}]: "title" must be a string')
    return context


def _refuse_equal_ids(contexts: list[Record], where: str) -> None:
    seen: dict[str, int] = {}
    for position, context in enumerate(contexts):
        first = seen.setdefault(context["id"], position)
        if first != position:
            raise DataError(
                f'{where}: contexts[{first}] and [{position}] share the id "{context["id"]}"'
            )


def _keys(record: Record) -> str:
    shown = ", ".join(list(record)[:8])
    return shown + (", …" if len(record) > 8 else "")
