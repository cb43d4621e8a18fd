from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.sources import BadLine, read_documents, read_lines, read_records

LINES = b'{"id":"1","question":"x"}\n{"id":"2","question":"y"}\n'


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        LINES.rstrip(b"\n"),
        b"\xef\xbb\xbf" + LINES,
        LINES.replace(b"\n", b"\r\n"),
        LINES.replace(b"\n", b"\n\n  \n"),
        gzip.compress(LINES),
        gzip.compress(LINES[:26]) + gzip.compress(LINES[26:]),
        zstandard.compress(LINES),
        zstandard.compress(LINES[:26]) + zstandard.compress(LINES[26:]),
        gzip.compress(b"\xef\xbb\xbf" + LINES),
    ],
    ids=["plain", "no end", "bom", "crlf", "blank", "gzip", "gzip2", "zstd", "zstd2", "gzip bom"],
)
def test_all_these_bytes_are_the_same_two_records(tmp_path: Path, data: bytes) -> None:
    records = list(read_records([write(tmp_path / "f.jsonl", data)]))
    assert records == [{"id": "1", "question": "x"}, {"id": "2", "question": "y"}]


SPOILED = bytearray(gzip.compress(LINES * 99))
SPOILED[12] ^= 0xFF  # within the deflated data


@pytest.mark.parametrize(
    "data", [gzip.compress(LINES)[:-9], zstandard.compress(LINES * 99)[:-5], bytes(SPOILED)]
)
def test_damaged_compressed_data_is_an_error_that_names_the_file(
    tmp_path: Path, data: bytes
) -> None:
    with pytest.raises(DataError, match=r"f\.jsonl: the compressed data is damaged"):
        list(read_records([write(tmp_path / "f.jsonl", data)]))


def test_equal_ids_name_both_lines_across_files(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", LINES), write(tmp_path / "b", b"\n" + LINES[26:])
    with pytest.raises(DataError, match=r'b:2: the id "2" was used before, at .*a:2'):
        list(read_records([first, second]))


def test_line_numbers_count_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "f", b"\n\n{}\n\nx")
    assert list(read_lines(path)) == [(3, b"{}"), (5, b"x")]


def test_missing_ids_count_on_over_files(tmp_path: Path) -> None:
    one = write(tmp_path / "a", b'{"question":"x"}\n{"question":"y"}\n')
    two = write(tmp_path / "b", b'{"question":"z"}\n')
    assert [record["id"] for record in read_records([one, two])] == ["q1", "q2", "q3"]


def test_bad_lines_go_to_the_handler_with_number_and_bytes(tmp_path: Path) -> None:
    bad: list[BadLine] = []
    path = write(tmp_path / "f", b'{"id":"1","question":"x"}\n{oops\n{"id":"1","question":"y"}\n')
    assert [record["id"] for record in read_records([path], bad.append)] == ["1"]
    assert [(item.number, item.line) for item in bad] == [
        (2, b"{oops"),
        (3, b'{"id":"1","question":"y"}'),
    ]


def test_a_directory_and_a_missing_file_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="directory"):
        list(read_documents([tmp_path]))
    with pytest.raises(DataError, match="cannot be opened"):
        list(read_documents([tmp_path / "nothing"]))


MEGABYTE = 1 << 20


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMITS, "line_mb", 1)


@pytest.mark.usefixtures("one_megabyte")
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(tmp_path: Path) -> None:
    longest, longer = b"x" * MEGABYTE, b"x" * (MEGABYTE + 1)
    path = write(tmp_path / "f", b"1\n" + longest + b"\n" + longer + b"\n4\n" + longer)
    bad: list[BadLine] = []
    assert list(read_lines(path, bad.append)) == [(1, b"1"), (2, longest), (4, b"4")]
    assert [each.number for each in bad] == [3, 5] and bad[0].line == longer[:4096]
    with pytest.raises(DataError, match=r"f:3: the line is longer than 1 MB; .*--max-line-mb"):
        list(read_lines(path))


@pytest.mark.usefixtures("one_megabyte")
@pytest.mark.parametrize("packed", [None, gzip.compress, zstandard.compress])
def test_a_line_without_an_end_needs_little_memory(
    tmp_path: Path, packed: Callable[[bytes], bytes] | None
) -> None:
    size = 200 * MEGABYTE
    path = tmp_path / "f"
    if packed:
        write(path, packed(bytes(size)))
    else:
        with open(path, "wb") as stream:
            stream.truncate(size)  # takes no room on the disk
    bad: list[BadLine] = []
    tracemalloc.start()
    try:
        assert list(read_lines(path, bad.append)) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(bad) == 1 and peak < 80 * MEGABYTE
