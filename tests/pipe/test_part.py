from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.pipe import packing
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.pipe.packing import WholeLines
from grasp_cli.pipe.part import BusyError, Part
from grasp_cli.pipe.sources import read_lines

NAMES = ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst")
LINES = [b"%d:" % number + b"x" * (number % 7) for number in range(40)]


def written(path: Path) -> list[bytes]:
    return [line for _, line in read_lines(path)]


@pytest.mark.parametrize("name", NAMES)
def test_the_file_appears_when_it_is_finished(tmp_path: Path, name: str) -> None:
    part = Part(tmp_path / name)
    for line in LINES:
        part.write_line(line)
    part.flush()
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.part"]
    part.finish()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert written(tmp_path / name) == LINES


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(data=st.data())
def test_cut_off_anywhere_the_flushed_lines_are_there(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Whatever byte a kill leaves as the last: a prefix of the lines, all that the bytes hold."""
    packing_block, packing.BLOCK = packing.BLOCK, 60
    try:
        target = tmp_path_factory.mktemp("cut") / name
        part = Part(target)
        sizes = [0]  # of the file after each line
        for line in LINES:
            part.write_line(line)
            part.flush()
            sizes.append(part.size)
        os.close(part._descriptor)  # as a killed process does
        keep = data.draw(st.integers(0, sizes[-1]))
        os.truncate(part.path, keep)
        flushed = max(number for number, size in enumerate(sizes) if size <= keep)

        again = Part(target)
        found = list(again.lines())
        assert found == LINES[: len(found)] and flushed <= len(found) <= flushed + 1
        again.go_on()
        for line in LINES[len(found) :]:
            again.write_line(line)
        again.finish()
        assert written(target) == LINES
    finally:
        packing.BLOCK = packing_block


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_is_a_whole_file(tmp_path: Path, name: str) -> None:
    part = Part(tmp_path / name)
    part.write_line(b"one")
    part.leave()
    assert written(part.path) == [b"one"]
    more = Part(tmp_path / name)
    assert list(more.lines()) == [b"one"]
    more.go_on()
    more.write_line(b"two")
    more.finish()
    assert written(tmp_path / name) == [b"one", b"two"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_written_leaves_nothing_or_an_empty_file(tmp_path: Path, name: str) -> None:
    Part(tmp_path / name).leave()
    assert not list(tmp_path.iterdir())
    Part(tmp_path / name).finish()
    assert written(tmp_path / name) == []
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == b""


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    target = tmp_path / "out"
    first = Part(target)
    first.write_line(b"one")
    with pytest.raises(BusyError, match="another grasp is writing"):
        Part(target)
    first.flush()
    with pytest.raises(BusyError):
        Part(target)
    first.finish()
    Part(target).discard()
    assert target.read_bytes() == b"one\n"


def test_a_copied_part_keeps_its_lock(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")  # without a newline at its end
    part = Part(target)
    part.copy(target)
    with pytest.raises(BusyError):
        Part(target)
    part.write_line(b"new")
    part.finish()
    assert target.read_bytes() == b"old\nnew\n" and list(tmp_path.iterdir()) == [target]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part(tmp_path / "out")
    part.write_line(b"one")
    part.flush()

    real, room = os.pwrite, 3

    def pwrite(descriptor: int, data: bytes, at: int) -> int:
        nonlocal room
        if not room:
            raise OSError(28, "No space left on device")
        count, room = real(descriptor, bytes(data)[:room], at), 0
        return count

    monkeypatch.setattr(os, "pwrite", pwrite)
    part.write_line(b"second")
    with pytest.raises(ProcessingError, match="No space left"):
        part.flush()
    part.leave()
    assert part.path.read_bytes() == b"one\n"


def test_a_part_that_was_removed_is_noticed_at_once(tmp_path: Path) -> None:
    part = Part(tmp_path / "out")
    part.path.unlink()
    part.write_line(b"one")
    with pytest.raises(ProcessingError, match="removed or replaced"):
        part.flush()
    other = Part(tmp_path / "out")  # of somebody else, by now
    part.leave()
    part.discard()
    assert other.path.exists()
    other.discard()


def test_damage_inside_a_compressed_file_ends_it_there(tmp_path: Path) -> None:
    part = Part(tmp_path / "out.gz")
    part.write_line(b"one")
    part.leave()
    end = part.path.stat().st_size
    with open(part.path, "ab") as stream:
        stream.write(b"\0" * 100)  # what a file system may leave after a power cut
    found = WholeLines(part.path, tmp_path / "out.gz")
    assert list(found) == [b"one"] and found.end == end
