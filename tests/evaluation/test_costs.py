from __future__ import annotations

from typing import Any

import pytest

from grasp_cli.evaluation.costs import costs, full_costs

RECORD: dict[str, Any] = {
    "id": "1",
    "retrieval": {"seconds": 0.5},
    "compression": {
        "tokens_in": 200,
        "tokens_out": 50,
        "chars_in": 1000,
        "chars_out": 100,
        "seconds": 1.0,
    },
    "reader": {"prompt_tokens": 70, "completion_tokens": 3, "seconds": 2.0},
    "reader_full": {"prompt_tokens": 220, "completion_tokens": 4, "seconds": 5.0},
}


def test_by_hand() -> None:
    assert costs(RECORD) == {
        "removed": 0.75,
        "removed_chars": 0.9,
        "tokens_in": 200,
        "tokens_out": 50,
        "prompt_tokens": 70,
        "completion_tokens": 3,
        "seconds_retrieve": 0.5,
        "seconds_compress": 1.0,
        "seconds_answer": 2.0,
        "seconds_total": 3.5,
    }
    assert full_costs(RECORD) == {
        "prompt_tokens": 220,
        "completion_tokens": 4,
        "seconds_retrieve": 0.5,
        "seconds_answer": 5.0,
        "seconds_total": 5.5,
    }


def timed(*stages: str) -> dict[str, float]:
    """The seconds of the record after those stages ran with --latency."""
    changed = {key: {**RECORD[key], "latency": True} for key in stages}
    found = costs({**RECORD, **changed})
    return {name: value for name, value in found.items() if name.startswith(("sec", "lat"))}


def test_latencies_stand_apart() -> None:
    assert timed("retrieval", "compression", "reader") == {
        "latency_retrieve": 0.5,
        "latency_compress": 1.0,
        "latency_answer": 2.0,
        "latency_total": 3.5,
    }
    mixed = timed("compression", "reader")  # a share and latencies have no sum
    assert mixed == {"seconds_retrieve": 0.5, "latency_compress": 1.0, "latency_answer": 2.0}


def test_only_answered_records_have_a_total() -> None:
    found = costs({key: RECORD[key] for key in ("id", "retrieval", "compression")})
    assert "seconds_total" not in found
    assert found["seconds_compress"] == 1


@pytest.mark.parametrize(
    "said",
    [
        {"compression": "gzip"},
        {"compression": {"seconds": "fast", "tokens_in": 5}},
        {"compression": {"tokens_in": 0, "tokens_out": 0}},
        {"reader": None},
        {},
    ],
)
def test_what_is_not_known_is_left_out(said: dict[str, Any]) -> None:
    assert not set(costs({"id": "1", **said})) - {"tokens_in", "tokens_out"}
