from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from grasp_cli.pipe.errors import DataError, ProcessingError, UsageError
from grasp_cli.pipe.sinks import open_sink


def test_the_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    with pytest.raises(RuntimeError), open_sink(target) as sink:
        sink.write({"id": "1"})
        sink.flush()
        assert [path.name for path in tmp_path.iterdir() if path != target] == ["out.jsonl.part"]
        assert target.read_text() == "old"
        raise RuntimeError
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
    with open_sink(target) as sink:
        sink.write({"id": "1"})
    assert target.read_text() == '{"id":"1"}\n' and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("suffix", "unpack"), [(".gz", gzip.decompress), (".zst", zstandard.decompress)]
)
def test_the_name_chooses_the_compression(tmp_path: Path, suffix: str, unpack: object) -> None:
    target = tmp_path / f"out.jsonl{suffix}"
    with open_sink(target) as sink:
        sink.write({"id": "1"})
    data = target.read_bytes()
    if suffix == ".zst":  # a streamed frame does not state its size
        assert zstandard.ZstdDecompressor().decompressobj().decompress(data) == b'{"id":"1"}\n'
    else:
        assert gzip.decompress(data) == b'{"id":"1"}\n'


def test_expectations_refuse_the_rename(tmp_path: Path) -> None:
    target, wanted = tmp_path / "out", tmp_path / "wanted"
    wanted.write_text('{"_id":"1"}\n{"id":2}\n')
    for expect, told in (("2", "1 records were written"), (str(wanted), "1 ids are missing: 2")):
        with pytest.raises(DataError, match=told), open_sink(target, expect=expect) as sink:
            sink.write({"id": "1"})
        assert not target.exists()
    with open_sink(target, expect=str(wanted)) as sink:
        sink.write({"id": "2"})
        sink.write({"id": "1"})
    assert target.exists()


def test_an_input_is_never_the_output(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("{}")
    with pytest.raises(UsageError, match="also an input"), open_sink(target, inputs=[target]):
        pass
    assert target.read_text() == "{}"


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProcessingError, match="cannot be written"), open_sink(tmp_path / "a" / "b"):
        pass


def test_a_device_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_sink(pipe) as sink:
        sink.write({"id": "1"})
    assert os.read(reading, 100) == b'{"id":"1"}\n' and list(tmp_path.iterdir()) == [pipe]
    os.close(reading)
    with pytest.raises(ProcessingError, match="directory"), open_sink(tmp_path):
        pass
