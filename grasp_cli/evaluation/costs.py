"""What a question cost: tokens removed, and seconds per stage where they were recorded."""

from __future__ import annotations

from grasp_cli.pipe.records import Record

_STAGES = {"retrieval": "seconds_retrieve", "compression": "seconds_compress"}


def costs(record: Record) -> dict[str, float]:
    """The cost metrics that the record tells."""
    values = _seconds(record, {**_STAGES, "reader": "seconds_answer"})
    compression = record.get("compression") or {}
    tokens_in, tokens_out = compression.get("tokens_in"), compression.get("tokens_out")
    if tokens_in and tokens_out is not None:
        values["removed"] = 1 - tokens_out / tokens_in
    return values


def full_costs(record: Record) -> dict[str, float]:
    """The cost metrics of answering from the full contexts (`grasp answer --compare`)."""
    return _seconds(record, {"retrieval": "seconds_retrieve", "reader_full": "seconds_answer"})


def _seconds(record: Record, stages: dict[str, str]) -> dict[str, float]:
    found = {name: (record.get(key) or {}).get("seconds") for key, name in stages.items()}
    return {name: seconds for name, seconds in found.items() if seconds is not None}
