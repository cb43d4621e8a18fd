from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from grasp_cli.cli.options import Stream, run
from grasp_cli.pipe.engine import Outcome, Tally, run_stage
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.latency import OneByOne, all_read
from grasp_cli.pipe.records import Record


class Slow:
    """A stage whose first call is slow, as one that loads a model; it remembers what it got."""

    name, window = "compress", 32

    def __init__(self) -> None:
        self.got: list[list[str]] = []

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        self.got.append([record["id"] for record in records])
        seconds = 9.0 if len(self.got) == 1 else 0.1
        for record in records:
            if record["question"] == "bad":
                yield RecordError("no")
            else:
                yield {**record, "compression": {"seconds": seconds}}


def records(*questions: str) -> list[Record]:
    return [{"id": str(n), "question": q, "reader": {"x": 1}} for n, q in enumerate(questions)]


def test_one_at_a_time_after_the_first_was_run_for_nothing() -> None:
    stage, tally = Slow(), Tally()
    found = [r for part in run_stage(OneByOne(stage), records("a", "b", "c"), tally) for r in part]
    assert stage.got == [["0"], ["0"], ["1"], ["2"]]
    assert [r["compression"] for r in found] == [{"seconds": 0.1, "latency": True}] * 3
    assert all(r["reader"] == {"x": 1} for r in found)  # another stage's own
    assert tally.read == 3


def test_failures_stay_in_their_place() -> None:
    stage, tally = Slow(), Tally()
    failed = [{"id": "x", "question": "?", "error": {}}, *records("bad", "a")]
    found = [r for part in run_stage(OneByOne(stage), failed, tally) for r in part]
    assert [("error" in r, "compression" in r) for r in found] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert (tally.failed, tally.passed_on) == (1, 1)
    assert stage.got == [["0"], ["0"], ["1"]]  # a failed record warms nothing


def test_nothing_starts_before_the_input_has_ended() -> None:
    seen = []

    def coming() -> Iterator[Record]:
        for record in records("a", "b"):
            seen.append(record["id"])
            yield record

    assert next(all_read(coming()))["id"] == "0"
    assert seen == ["0", "1"]


def test_a_run_with_latency(
    tmp_path: Path,
) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records("a", "b")))
    stage = Slow()
    out = tmp_path / "y.jsonl"
    run(stage, Stream("compress", [source], out, quiet=True, options={"latency": True}))
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["compression"]["latency"] for record in written] == [True, True]
    assert stage.got == [["0"], ["0"], ["1"]]
    run(Slow(), Stream("compress", [source], out, quiet=True))
    assert "latency" not in json.loads(out.read_text().splitlines()[0])["compression"]
