"""CSV, TSV and Parquet to documents."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.formats import load_document_format
from grasp_cli.formats.columns import parse_columns
from grasp_cli.pipe.errors import DataError, MissingError, UsageError
from grasp_cli.pipe.line_limit import LIMITS

DOCUMENTS = [
    {"id": "d1", "title": "The Dam", "text": 'It "burst",\nthey\tsay.', "year": "1911"},
    {"id": "d2", "title": "", "text": " Fähre 渡船 ", "year": ""},
]


def written(path: Path, rows: list[list[Any]], delimiter: str = ",", **how: Any) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, **how).writerows(rows)
    return path


def read(name: str, path: Path, **columns: str) -> list[dict[str, Any]]:
    return list(load_document_format(name, columns).documents(path))


def as_rows(documents: list[dict[str, Any]]) -> list[list[Any]]:
    return [list(documents[0]), *(list(document.values()) for document in documents)]


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_delimited(tmp_path: Path, name: str, delimiter: str, line_end: str) -> None:
    path = written(tmp_path / "x", as_rows(DOCUMENTS), delimiter, lineterminator=line_end)
    assert read(name, path) == DOCUMENTS
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes() + b"\n\n"))
    assert read(name, path) == DOCUMENTS


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    written(path, [["id", "text"], *([f"d{n}", text] for n, text in enumerate(texts))])
    assert [document["text"] for document in read("csv", path)] == texts


def test_parquet(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist([{**document, "year": None} for document in DOCUMENTS] * 600)
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(table, path)
    assert read("parquet", path) == [{**document, "year": None} for document in DOCUMENTS] * 600


def test_parquet_values(tmp_path: Path) -> None:
    row = {
        "text": "One.",
        "day": datetime.date(1911, 4, 5),
        "price": decimal.Decimal("1.50"),
        "tags": [{"at": datetime.datetime(1911, 4, 5, 6), "name": "a"}],
        "span": datetime.timedelta(seconds=90),
        "share": 0.5,
        "binary": {"binary": 1},
        "raw": [{"x": b"\xff"}],
        "__index_level_0__": 7,
    }
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "x")
    form = load_document_format("parquet")
    assert list(form.documents(tmp_path / "x")) == [
        {
            "id": "d1",
            "text": "One.",
            "day": "1911-04-05",
            "price": "1.50",
            "tags": [{"at": "1911-04-05T06:00:00", "name": "a"}],
            "span": "0:01:30",
            "share": 0.5,
            "binary": {"binary": 1},
        }
    ]
    assert form.notes == {'column "raw" of bytes: left out': 1}


def test_a_row_of_parquet_without_text(tmp_path: Path) -> None:
    table = pyarrow.table({"id": [5, 6], "text": pyarrow.array(["x", None]).dictionary_encode()})
    pyarrow.parquet.write_table(table, tmp_path / "x")
    form = load_document_format("parquet")
    found = list(form.documents(tmp_path / "x"))
    assert found == [{"id": "5", "text": "x"}, {"id": "6", "text": ""}]
    assert list(form.notes.values()) == [1]


def test_columns_by_usual_names_and_by_given_ones(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [["", "DOC_ID", "Contents", "Title"], ["0", "7", "One.", "T"]])
    assert read("csv", path) == [{"id": "7", "text": "One.", "title": "T"}]
    path = written(tmp_path / "b", [["text", "id", "body"], ["summary", "7", "One."]])
    assert read("csv", path) == [{"text": "summary", "id": "7", "body": "One."}]
    assert read("csv", path, text="body") == [{"id": "7", "text": "One."}]
    assert read("csv", path, title="text", text="body") == [
        {"title": "summary", "id": "7", "text": "One."}
    ]
    assert read("csv", written(tmp_path / "c", [["text"], ["x"], ["y"]])) == [
        {"id": "d1", "text": "x"},
        {"id": "d2", "text": "y"},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,body\n1,x\n", r"no column is called text or contents; its columns: id, body; name"),
        ("", "no column is called text or contents; its columns: none"),
        ("id;text\n1;x\n", "its columns: id;text; name"),
        ("text,text\nx,y\n", 'two columns are called "text"'),
        ('id,text\n1,"a\nb"\n2,y,z\n', r"x:4: 3 fields where the headings are 2"),
        ('id,text\n1,"a\n\n\n', r"x:2: not CSV \(unexpected end of data\)"),
        ('id,text\n1,"a"b\n', r"x:2: not CSV \("),
        ("id,text\n1,\udcff\n", "not UTF-8"),
    ],
)
def test_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=message):
        read("csv", tmp_path / "x")


def test_what_is_wrong_with_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("no such thing")
    with pytest.raises(DataError, match="x: cannot be read as Parquet: "):
        read("parquet", path)
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"], "body": [b"x"]}), path)
    with pytest.raises(DataError, match="text or contents; its columns: id, body; name"):
        read("parquet", path)
    with pytest.raises(DataError, match='the column "body" holds bytes'):
        read("parquet", path, text="body")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingError, match=r"pip install 'grasp-cli\[parquet\]'"):
        read("parquet", path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["x" * 5000] * 50}), stream)
    (tmp_path / "x").write_bytes(stream.getvalue()[:-9])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read("parquet", tmp_path / "x")


@pytest.mark.parametrize("pair", ["text", "body=text", "text=", "=body"])
def test_columns_that_are_none(pair: str) -> None:
    with pytest.raises(UsageError, match="write KEY=COLUMN"):
        parse_columns([pair])
    assert parse_columns(["text=a=b", "id=c"]) == {"text": "a=b", "id": "c"}


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path / "x", [["id", "text"]])
    with pytest.raises(DataError, match='no column "body"; its columns: id, text'):
        read("csv", path, text="body")


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMITS, "line_mb", 1)
    path = tmp_path / "t.csv"
    path.write_text("id,text\n1,short\n2," + "x" * (1 << 20))
    found = load_document_format("csv", {}).documents(path)
    assert next(found)["id"] == "1"
    with pytest.raises(DataError, match=r"t\.csv:3: the line is longer than 1 MB"):
        next(found)
