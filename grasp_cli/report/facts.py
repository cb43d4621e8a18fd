"""What a record says of its gold, answers and costs, in words."""

from __future__ import annotations

from grasp_cli.pipe.records import Record


def facts(record: Record) -> list[tuple[str, str]]:
    """What the record says of gold, answers and costs, as names and values to show."""
    said = {
        "gold": " | ".join(map(str, record.get("answers") or [])),
        "answer": record.get("answer"),
        "answer from everything": record.get("answer_full"),
        "tokens": _tokens(record.get("compression") or {}),
        "sentences": _sentences(record.get("compression") or {}),
        "method": _method(record.get("compression") or {}),
        "seconds": _seconds(record),
        "saved at the reader": _saved(record.get("saved") or {}),
        "error": _error(record.get("error") or {}),
    }
    return [(name, str(value)) for name, value in said.items() if value]


def _tokens(said: Record) -> str | None:
    if "tokens_in" not in said:
        return None
    removed = f", {said['removed']:.1%} removed" if "removed" in said else ""
    return f"{said['tokens_in']} → {said.get('tokens_out')}{removed}"


def _sentences(said: Record) -> str | None:
    if "sentences" not in said:
        return None
    steps = [f"{said['sentences']}"]
    if "after_coarse" in said:
        steps.append(f"{said['after_coarse']} after the coarse filter")
    if "units" in said:
        steps.append(f"{said['units']} units")
    if "kept" in said:
        steps.append(f"{said['kept']} of them kept" if "units" in said else f"{said['kept']} kept")
    rescued = f", {said['rescued']} by a second hop" if "rescued" in said else ""
    return " → ".join(steps) + rescued


def _method(said: Record) -> str:
    fallback = said.get("fallback") and f"fallback: {said['fallback']}"
    return ", ".join(str(x) for x in (said.get("method"), said.get("profile"), fallback) if x)


def _seconds(record: Record) -> str:
    spent = (
        ("compress", "compression"),
        ("reader", "reader"),
        ("reader on everything", "reader_full"),
    )
    known = [
        f"{name} {seconds:.2f}"
        for name, key in spent
        if isinstance(seconds := (record.get(key) or {}).get("seconds"), (int, float))
    ]
    return ", ".join(known)


def _saved(said: Record) -> str:
    tokens, seconds = said.get("tokens"), said.get("seconds")
    return ", ".join(
        part
        for part in (
            f"{tokens} tokens" if tokens is not None else "",
            f"{seconds:.2f} seconds" if isinstance(seconds, (int, float)) else "",
        )
        if part
    )


def _error(said: Record) -> str:
    return f"{said.get('stage')}: {said.get('message')}" if said else ""
