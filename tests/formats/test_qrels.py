from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from grasp_cli.formats.qrels import read_qrels
from grasp_cli.pipe.errors import DataError
from tests.conftest import shared

EXPECTED = {"q1": {"d1": 1, "d2": 2}, "q2": {"d1": 0}}


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\n\nq2\td1\t0\n",
        "q1\td1\t1\r\nq1\td2\t2\r\nq2\td1\t0",
        "q1 0 d1 1\nq1 0 d2 2\nq2 Q0 d1 0\n",
        "q1\t0\td1\t1\nq1  0   d2\t2\nq2 0 d1 0\n",
        "q1 d1 1\nq1 d2 2\nq2 d1 0\nq1 d1 1\n",
    ],
)
def test_both_layouts(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_bytes(text.encode())
    assert read_qrels([tmp_path / "a"]) == EXPECTED
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    assert read_qrels([tmp_path / "a.gz"]) == EXPECTED


def test_ids_with_spaces_need_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("q 1\tNet Museum, Orl\t1\nq 1\t0\tThe Dam\t2\n")
    assert read_qrels([tmp_path / "a.tsv"]) == {"q 1": {"Net Museum, Orl": 1, "The Dam": 2}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 d2", "expected query id"),
        ("q1 0 d1 one", "expected query id"),
        ("q1 0 d1 0.5", "expected query id"),
        ("q1 0 d1 1 grasp 7", "expected query id"),
        ("q1\t\t1", "expected query id"),
        ("query-id\tcorpus-id\tscore", "expected query id"),
        ("q1 0 d1 2", 'document "d1" of query "q1" has grade 2 here and 1 before'),
        ("q1 0 d\udcff 2", "not UTF-8"),
    ],
)
def test_what_is_wrong(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"q1 0 d1 1\n" + line.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=rf"qrels\.txt:2: .*{message}"):
        read_qrels([path])


def test_a_real_file() -> None:
    found = read_qrels([shared("data/scifact_subset/qrels/test.tsv")])
    assert len(found) == 300
    assert {grade for grades in found.values() for grade in grades.values()} == {1}
