"""What a record says of its gold, answers and costs, in words."""

from __future__ import annotations

from grasp_cli.pipe.records import Record, trace_of


def facts(record: Record) -> list[tuple[str, str]]:
    """What the record says of gold, answers and costs, as names and values to show."""
    shown = {
        "gold": " | ".join(map(str, record.get("answers") or [])),
        "answer": record.get("answer"),
        "answer from everything": record.get("answer_full"),
        "tokens": _tokens(trace_of(record, "compression")),
        "sentences": _sentences(trace_of(record, "compression")),
        "method": _method(trace_of(record, "compression")),
        "seconds": _seconds(record),
        "saved at the reader": _saved(trace_of(record, "saved")),
        "error": _error(trace_of(record, "error")),
    }
    return [(name, str(value)) for name, value in shown.items() if value]


def _tokens(trace: Record) -> str | None:
    if "tokens_in" not in trace:
        return None
    share = trace.get("removed")
    removed = f", {share:.1%} removed" if isinstance(share, (int, float)) else ""
    return f"{trace['tokens_in']} → {trace.get('tokens_out')}{removed}"


def _sentences(trace: Record) -> str | None:
    if "sentences" not in trace:
        return None
    steps = [f"{trace['sentences']}"]
    if "after_coarse" in trace:
        steps.append(f"{trace['after_coarse']} after the coarse filter")
    if "units" in trace:
        steps.append(f"{trace['units']} units")
    if "kept" in trace:
        steps.append(
            f"{trace['kept']} of them kept" if "units" in trace else f"{trace['kept']} kept"
        )
    rescued = f", {trace['rescued']} by a second hop" if "rescued" in trace else ""
    return " → ".join(steps) + rescued


def _method(trace: Record) -> str:
    fallback = trace.get("fallback") and f"fallback: {trace['fallback']}"
    return ", ".join(str(x) for x in (trace.get("method"), trace.get("profile"), fallback) if x)


def _seconds(record: Record) -> str:
    spent = (
        ("compress", "compression"),
        ("reader", "reader"),
        ("reader on everything", "reader_full"),
    )
    known = [
        f"{name} {seconds:.2f}"
        for name, key in spent
        if isinstance(seconds := trace_of(record, key).get("seconds"), (int, float))
    ]
    return ", ".join(known)


def _saved(trace: Record) -> str:
    tokens, seconds = trace.get("tokens"), trace.get("seconds")
    return ", ".join(
        part
        for part in (
            f"{tokens} tokens" if tokens is not None else "",
            f"{seconds:.2f} seconds" if isinstance(seconds, (int, float)) else "",
        )
        if part
    )


def _error(trace: Record) -> str:
    return f"{trace.get('stage')}: {trace.get('message')}" if trace else ""
