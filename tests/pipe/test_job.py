from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe import packing
from grasp_cli.pipe.errors import DataError, Interrupted, ProcessingError, UsageError
from grasp_cli.pipe.limits import MaxErrors
from grasp_cli.pipe.manifest import Recipe
from grasp_cli.pipe.shards import Shard
from grasp_cli.pipe.sources import read_lines
from tests.pipe.jobs import BAD, GONE, Ran, Upper, questions, work

NAMES = ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst")


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for _, line in read_lines(path)]


def story(output: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((output.parent / f"{output.name}.manifest.json").read_bytes())
    return told


def counts(output: Path) -> tuple[int, int, int, int, int, int]:
    told = story(output)
    return tuple(  # type: ignore[return-value]
        told[key] for key in ("read", "written", "failed", "skipped", "total", "exit")
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("broken", ["0", "1", "5", "8"])
def test_a_broken_run_goes_on_where_it_was(tmp_path: Path, name: str, broken: str) -> None:
    source, whole, out = questions(tmp_path / "in", range(9)), tmp_path / "whole", tmp_path / name
    assert work(source, whole).code == 0
    first = work(source, out, Upper(break_at=broken))
    assert isinstance(first.error, RuntimeError) and not out.exists()
    kept = int(broken) // 3 * 3 if first.stage.seen[0] != broken else 0
    assert story(out)["exit"] == 1 and not story(out)["complete"]
    again = work(source, out, resume=True)
    assert again.code == 0
    assert again.stage.seen == [str(number) for number in range(9 - len(again.stage.seen), 9)]
    assert [line for _, line in read_lines(out)] == [line for _, line in read_lines(whole)]
    assert len(again.stage.seen) <= 9 - kept or kept == 0
    assert not (tmp_path / f"{name}.part").exists()


def test_the_line_at_the_end_says_what_is_kept_and_how_to_go_on(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(9)), tmp_path / "out"
    ran = work(source, out, Upper(break_at="7", window=1), again="grasp upper in -o out --resume")
    kept, line = ran.said
    assert kept == f"7 records are kept in {out}.part; to go on: grasp upper in -o out --resume"
    assert line.startswith("8 read, 7 written, ")
    assert counts(out) == (8, 7, 0, 0, 7, 1)


@pytest.mark.parametrize("name", NAMES)
def test_killed_at_any_byte_the_result_is_the_same(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FILE.part cut off at random bytes, again and again, as SIGKILL would leave it."""
    monkeypatch.setattr(packing, "BLOCK", 300)
    source, whole, out = questions(tmp_path / "in", range(40)), tmp_path / "whole", tmp_path / name
    part = tmp_path / f"{name}.part"
    work(source, whole)
    draw = random.Random(name)
    for _ in range(12):
        work(source, out, Upper(break_at="20", window=1))
        while not out.exists():
            os.truncate(part, draw.randint(0, part.stat().st_size))
            work(source, out, Upper(break_at=str(draw.randint(0, 60)), window=1), resume=True)
        assert [line for _, line in read_lines(out)] == [line for _, line in read_lines(whole)]
        out.unlink()


def test_a_finished_file_gets_what_is_new_and_else_is_left_alone(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(4)), tmp_path / "out"
    assert work(source, out).code == 0
    before, manifest = (out.stat().st_ino, out.stat().st_mtime_ns), story(out)
    idle = work(source, out, resume=True)
    assert idle.code == 0 and idle.stage.seen == []
    assert idle.said[0].startswith("nothing to do")
    assert (out.stat().st_ino, out.stat().st_mtime_ns) == before and story(out) == manifest
    questions(source, [9, 0, 1, 8, 2, 3])
    more = work(source, out, resume=True)
    assert more.code == 0 and more.stage.seen == ["9", "8"]
    assert ids(out) == ["0", "1", "2", "3", "9", "8"]
    assert counts(out) == (6, 2, 0, 4, 6, 0)
    questions(source, ["new day"])  # the old questions are no longer in the input, and stay
    assert work(source, out, resume=True).code == 0
    assert ids(out)[-2:] == ["8", "new day"] and len(ids(out)) == 7


def test_a_break_while_a_file_grows_loses_nothing_of_it(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(4)), tmp_path / "out"
    work(source, out)
    questions(source, range(4, 12))
    work(source, out, Upper(break_at="9", window=1), resume=True)
    assert ids(out) == ["0", "1", "2", "3"] and len(ids(tmp_path / "out.part")) == 9
    assert work(source, out, resume=True).code == 0
    assert ids(out) == [str(number) for number in range(12)]


@pytest.mark.parametrize("name", NAMES)
def test_retryable_errors_are_done_again_in_their_place(tmp_path: Path, name: str) -> None:
    source, out = questions(tmp_path / "in", range(8)), tmp_path / name
    failing = {"1": GONE, "3": BAD, "5": GONE}
    assert work(source, out, Upper(failing=failing)).code == 7
    half = work(source, out, Upper(failing={"5": GONE}), resume=True)
    assert half.stage.seen == ["1", "5"] and half.code == 7
    assert ids(out) == [str(number) for number in range(8)]
    assert work(source, out, resume=True).stage.seen == ["5"]
    records = [json.loads(line) for _, line in read_lines(out)]
    assert [record["id"] for record in records] == [str(number) for number in range(8)]
    assert [record["id"] for record in records if "error" in record] == ["3"]


def test_a_retryable_error_whose_question_is_gone_stays(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(3)), tmp_path / "out"
    work(source, out, Upper(failing={"1": GONE}))
    questions(source, [7])
    work(source, out, resume=True)
    assert ids(out) == ["0", "1", "2", "7"]


def test_an_error_of_an_earlier_stage_is_done_when_that_stage_is(tmp_path: Path) -> None:
    error = {"stage": "retrieve", "type": "x", "message": "y", "retryable": True}
    source, out = questions(tmp_path / "in", range(3), error=error), tmp_path / "out"
    assert work(source, out).code == 0
    assert work(source, out, resume=True).said[0].startswith("nothing to do")
    questions(source, range(3))
    again = work(source, out, resume=True)
    assert again.stage.seen == ["0", "1", "2"] and ids(out) == ["0", "1", "2"]
    assert "upper" in out.read_text() and "error" not in out.read_text()


def test_a_failure_before_the_break_counts_in_the_end_and_only_once(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"
    work(source, out, Upper(failing={"1": BAD}, break_at="4", window=1))
    assert work(source, out, resume=True).code == 7  # as without the break
    questions(source, range(7))
    assert work(source, out, resume=True).code == 0  # it was told yesterday


@pytest.mark.parametrize("finished", [True, False])
def test_another_recipe_is_refused_with_the_difference(tmp_path: Path, finished: bool) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"
    model = {"name": "m", "sha256": "a" * 64}
    work(
        source,
        out,
        Upper(break_at=None if finished else "4"),
        recipe=Recipe("upper", {"top_k": 5, "threads": 1}, {"reader": model}, "i" * 64),
    )
    questions(source, range(8))
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())
    other = Recipe(
        "upper",
        {"top_k": 7, "threads": 2},
        {"reader": {"name": "m", "sha256": "b" * 64}},
        "j" * 64,
        free=frozenset({"threads"}),
    )
    refused = work(source, out, resume=True, recipe=other)
    assert isinstance(refused.error, UsageError) and refused.stage.seen == []
    for told in (
        "top_k 5, now 7",
        "m (aaaaaaaaaaaa…), now m (bbbbbbbbbbbb…)",
        "index iiiiiiiiiiii",
    ):
        assert told in str(refused.error)
    assert "threads" not in str(refused.error)
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == before
    assert work(source, out, resume=True, force=True, recipe=other).code == 0
    assert ids(out) == [str(number) for number in range(8)]
    assert story(out)["options"]["top_k"] == 7


def test_a_file_without_a_manifest_needs_force(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(3)), questions(tmp_path / "out", [0])
    refused = work(source, out, resume=True)
    assert isinstance(refused.error, UsageError) and "--force" in str(refused.error)
    assert work(source, out, resume=True, force=True).stage.seen == ["1", "2"]


def test_resume_with_nothing_there_begins(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(3)), tmp_path / "out"
    assert work(source, out, resume=True).code == 0 and ids(out) == ["0", "1", "2"]


def test_without_resume_an_old_part_is_thrown_away_but_not_before_a_record_is_there(
    tmp_path: Path,
) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"
    work(source, out, Upper(break_at="5", window=1))
    (tmp_path / "empty").write_text("")
    assert isinstance(work(tmp_path / "empty", out).error, DataError)
    assert len(ids(tmp_path / "out.part")) == 5
    assert work(source, out, resume=True).stage.seen == ["5"]
    out.unlink()
    work(source, out, Upper(break_at="5", window=1))
    assert len(work(source, out).stage.seen) == 6


def test_a_run_that_wrote_nothing_leaves_the_old_file_resumable(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(3)), tmp_path / "out"
    work(source, out)
    (tmp_path / "empty").write_text("")
    for resume in (True, False):
        assert isinstance(work(tmp_path / "empty", out, resume=resume).error, DataError)
        assert story(out)["exit"] == 4 and story(out)["complete"]
    assert not (tmp_path / "out.part").exists()
    assert work(source, out, resume=True).code == 0


def test_a_failure_with_nothing_there_is_told_in_the_manifest(tmp_path: Path) -> None:
    ran = work(questions(tmp_path / "in", [1]), tmp_path / "out", Upper(break_at="1"))
    assert ran.said[-1].startswith("1 read, 0 written") and len(ran.said) == 1
    assert story(tmp_path / "out")["exit"] == 1 and not (tmp_path / "out.part").exists()


def test_two_jobs_on_one_output(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"
    second: list[Ran] = []

    def meanwhile(key: str) -> None:
        if key == "4":
            second.append(work(source, out, resume=True))

    assert work(source, out, Upper(on=meanwhile, window=1)).code == 0
    assert isinstance(second[0].error, ProcessingError) and "another grasp" in str(second[0].error)
    assert ids(out) == [str(number) for number in range(6)] and story(out)["exit"] == 0


def test_the_output_deleted_under_way(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"

    def meanwhile(key: str) -> None:
        if key == "4":
            (tmp_path / "out.part").unlink()

    ran = work(source, out, Upper(on=meanwhile, window=1))
    assert isinstance(ran.error, ProcessingError) and "removed" in str(ran.error)
    assert work(source, out, resume=True).code == 0 and len(ids(out)) == 6


def test_expectations_hold_for_the_whole_file(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"
    wanted = questions(tmp_path / "wanted", [5, 0])
    work(source, out, Upper(break_at="4", window=1))
    assert isinstance(work(source, out, resume=True, expect="7").error, DataError)
    assert not out.exists() and len(ids(tmp_path / "out.part")) == 6
    assert work(source, out, resume=True, expect="6").code == 0
    questions(source, [8])
    assert work(source, out, resume=True, expect=str(wanted)).code == 0
    missing = work(source, tmp_path / "other", expect=str(wanted))
    assert "2 ids are missing: 0, 5" in str(missing.error)
    one = next(number for number in (1, 2) if "5" in Shard(number, 2))
    shard = Shard(one, 2)
    questions(source, range(10))
    assert work(source, tmp_path / "some", expect=str(wanted), shard=shard).code == 0


def test_max_errors_stops_and_keeps_what_is_there(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(50)), tmp_path / "out"
    failing = {str(number): BAD for number in range(10, 20)}
    stage = Upper(failing=failing, window=1)
    ran = work(source, out, stage, max_errors=MaxErrors.parse("3"))
    assert isinstance(ran.error, ProcessingError) and "4 of 14 records" in str(ran.error)
    assert len(ids(tmp_path / "out.part")) == 14 and story(out)["exit"] == 5
    assert work(source, out, stage, max_errors=MaxErrors.parse("10")).code == 7
    assert work(source, out, stage, max_errors=MaxErrors.parse("20%")).code == 7
    ran = work(source, out, stage, max_errors=MaxErrors.parse("19.9%"))
    assert "10 of 50" in str(ran.error)
    resumed = work(source, out, stage, resume=True, max_errors=MaxErrors.parse("9"))
    assert isinstance(resumed.error, ProcessingError)  # failures of before count
    for wrong in ("x", "-1", "101%", "1.5", ""):
        with pytest.raises(UsageError, match="--max-errors"):
            MaxErrors.parse(wrong)


def test_shards_share_the_records_out(tmp_path: Path) -> None:
    source = questions(tmp_path / "in", range(200))
    found = []
    for number in (1, 2, 3):
        out = tmp_path / f"out{number}"
        assert work(source, out, shard=Shard(number, 3)).code == 0
        assert 40 < len(ids(out)) < 95  # of 67 on average
        assert story(out)["other_shards"] == 200 - len(ids(out))
        found.append(ids(out))
    assert sorted(itertools.chain(*found), key=int) == [str(number) for number in range(200)]
    assert all(mine == sorted(mine, key=int) for mine in found)
    assert work(questions(tmp_path / "one", ["q"]), tmp_path / "o", shard=Shard(1, 99)).code == 0
    for wrong in ("0/3", "4/3", "1", "a/b", "1/0", "-1/2"):
        with pytest.raises(UsageError, match="--shard"):
            Shard.parse(wrong)


def test_an_interruption_is_told(tmp_path: Path) -> None:
    source, out = questions(tmp_path / "in", range(6)), tmp_path / "out"

    def stop(key: str) -> None:
        if key == "3":
            raise Interrupted(15)

    ran = work(source, out, Upper(on=stop, window=1))
    assert isinstance(ran.error, Interrupted) and story(out)["exit"] == 143
    assert len(ids(tmp_path / "out.part")) == 3


def test_options_that_contradict_each_other(tmp_path: Path) -> None:
    source, part = questions(tmp_path / "in", range(2)), questions(tmp_path / "x.part", range(2))
    for told, output, asked in (
        ("--force belongs to --resume", tmp_path / "out", {"force": True}),
        ("-o FILE", None, {"resume": True}),
        ("-o FILE", Path("-"), {"resume": True}),
        ("-o FILE", Path("/dev/full"), {"resume": True}),
        ("-o FILE", Path("/dev/null"), {"resume": True}),
        ("also an input", source, {}),
        ("also an input", part.with_suffix(""), {}),
    ):
        with pytest.raises(UsageError, match=told):
            work([source, part], output, **asked)  # type: ignore[arg-type]


def test_the_manifest_says_what_was_read(tmp_path: Path) -> None:
    import hashlib

    source, out = questions(tmp_path / "in", range(3)), tmp_path / "out"
    work(source, out)
    told = story(out)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert told["input"] == {"files": [str(source)], "sha256": digest, "records": 3}
    assert told["stage"] == "upper" and told["packages"]["python"] and told["seconds"] >= 0
    work(source, out, Upper(break_at="0"))
    assert story(out)["input"]["records"] == 3 or story(out)["input"]["sha256"] is None
