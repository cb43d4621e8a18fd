"""What must hold of a compressed context: the answer is still there, the rest is as promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grasp_cli.evaluation.answers import YES_NO
from grasp_cli.pipe.records import Record, trace_of
from grasp_cli.text.answers import holds, tokens


def retained(record: Record, *, failed: bool = False) -> dict[str, float]:
    """The checks that apply to a record; a failed one has kept no answer."""
    if not failed and not isinstance(record.get("context"), str):
        return {}
    checks = {"answer_kept": answer_kept(record, failed=failed)}
    if not failed:
        checks |= {"verbatim": is_verbatim(record), "budget_kept": within_budget(record)}
    return {name: float(held) for name, held in checks.items() if held is not None}


def answer_kept(record: Record, *, failed: bool = False) -> bool | None:
    """Whether a gold answer that is in the contexts is in `context`; None where none is there.

    Gold yes and no are left out: those words in a text say nothing.
    """
    golds = [tokens(str(gold)) for gold in record.get("answers") or []]
    golds = [gold for gold in golds if gold and gold not in YES_NO]
    if not any(holds(text, gold) for text in _texts(record) for gold in golds):
        return None
    return not failed and any(holds(record["context"], gold) for gold in golds)


def is_verbatim(record: Record) -> bool | None:
    """Whether every evidence text is its slice of a context; None where there is no evidence."""
    evidence, said = record.get("evidence"), trace_of(record, "compression")
    if not isinstance(evidence, list) or said.get("verbatim") is False:
        return None
    texts = {context["id"]: context["text"] for context in record.get("contexts", [])}
    return all(_is_slice(entry, texts) for entry in evidence)


def within_budget(record: Record) -> bool | None:
    """Whether the context has no more tokens than its budget; None where there was none."""
    said = trace_of(record, "compression")
    most, tokens_out = said.get("max_tokens"), said.get("tokens_out")
    return None if most is None or tokens_out is None else bool(tokens_out <= most)


def _is_slice(entry: Any, texts: dict[str, str]) -> bool:
    try:
        text: str = texts[entry["context"]]
        start, end = entry["start"], entry["end"]
        return bool(0 <= start < end <= len(text) and entry["text"] == text[start:end])
    except (KeyError, TypeError):
        return False


def _texts(record: Record) -> Iterator[str]:
    for context in record.get("contexts", []):
        yield context["text"]
        if context.get("title"):
            yield context["title"]
