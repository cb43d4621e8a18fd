"""What a question cost: tokens and characters, and seconds per stage where they were recorded."""

from __future__ import annotations

from collections.abc import Mapping

from grasp_cli.pipe.records import Record, trace_of

_STAGES = {"retrieval": "retrieve", "compression": "compress", "reader": "answer"}
_FULL_STAGES = {"retrieval": "retrieve", "reader_full": "answer"}


def costs(record: Record) -> dict[str, float]:
    """The cost metrics that the record tells."""
    return {
        **_seconds(record, _STAGES),
        **_sizes(record),
        **_tokens(record, "reader"),
    }


def full_costs(record: Record) -> dict[str, float]:
    """The cost metrics of answering from the full contexts (`grasp answer --compare`)."""
    return {**_seconds(record, _FULL_STAGES), **_tokens(record, "reader_full")}


def _sizes(record: Record) -> dict[str, float]:
    """Tokens of the contexts before and after compression, and the shares that were removed."""
    said = trace_of(record, "compression")
    found = {name: said[name] for name in ("tokens_in", "tokens_out") if _known(said, name)}
    for name, unit in (("removed", "tokens"), ("removed_chars", "chars")):
        if _known(said, f"{unit}_in", f"{unit}_out") and said[f"{unit}_in"]:
            found[name] = 1 - said[f"{unit}_out"] / said[f"{unit}_in"]
    return found


def _tokens(record: Record, reader: str) -> dict[str, float]:
    said = trace_of(record, reader)
    names = ("prompt_tokens", "completion_tokens")
    return {name: said[name] for name in names if _known(said, name)}


def _seconds(record: Record, stages: Mapping[str, str]) -> dict[str, float]:
    """Seconds of each stage, and of all of them where the record was answered.

    A stage that says `latency` was measured by itself, so that its seconds are a `latency_`; a sum
    of the two kinds would be neither and is left out.
    """
    found: dict[str, float] = {}
    kinds = set()
    for key, stage in stages.items():
        said = trace_of(record, key)
        if _known(said, "seconds"):
            kind = "latency" if said.get("latency") is True else "seconds"
            kinds.add(kind)
            found[f"{kind}_{stage}"] = said["seconds"]
    if len(kinds) == 1 and (kind := kinds.pop()) and f"{kind}_answer" in found:
        found[f"{kind}_total"] = sum(found.values())
    return found


def _known(said: Record, *names: str) -> bool:
    return all(isinstance(said.get(name), (int, float)) for name in names)
