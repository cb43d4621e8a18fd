from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from grasp_cli.formats import load_document_format
from grasp_cli.pipe.errors import DataError, UsageError
from tests.conftest import shared


def read(path: Path) -> list[dict[str, str]]:
    return list(load_document_format("text").documents(path))


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_a_directory_by_path_and_the_text_as_it_is(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "b/two.TXT": b"Two\r\n\tlines.\n",
            "a.md": b"\xef\xbb\xbf# A dam #\n\nIt burst.",
            "b.rst": b"Notes\n=====\n\nThey say.",
            "b/c/three.txt.gz": gzip.compress("Fähre".encode()),
            "b/.hidden.md": b"no",
            ".git/x.md": b"no",
            "picture.png": b"\xff\xfe",
        },
    )
    assert read(tmp_path) == [
        {"id": "a.md", "title": "A dam", "text": "# A dam #\n\nIt burst."},
        {"id": "b.rst", "title": "Notes", "text": "Notes\n=====\n\nThey say."},
        {"id": "b/c/three.txt.gz", "text": "Fähre"},
        {"id": "b/two.TXT", "text": "Two\r\n\tlines.\n"},
    ]


def test_a_file_that_is_named_is_read_whatever_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, {"x/LICENSE": b"# MIT"})
    assert read(tmp_path / "x" / "LICENSE") == [{"id": "LICENSE", "text": "# MIT"}]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\nlayout: x\ntitle: "The Dam"\n---\n# Other\n', "The Dam"),
        ("---\nlayout: x\n---\n# Other\n", "Other"),
        ("\n> Quote.\n\n## Second { #anchor }\n", "Second"),
        ("```sh\n# a comment\n```\n\n# After\n", "After"),
        ('# <div align="center">Logo<div>\n', "Logo"),
        ("======\nAbove\n======\n\nText.", "Above"),
        ("# \n\nText.", None),
        ("#hashtag no title\n", None),
        ("Only text.\n", None),
        ("", None),
    ],
)
def test_titles(tmp_path: Path, text: str, title: str | None) -> None:
    write(tmp_path, {"x.md": text.encode()})
    [document] = read(tmp_path / "x.md")
    assert document.get("title") == title
    assert document["text"] == text


def test_blank_files_are_counted(tmp_path: Path) -> None:
    form = load_document_format("text")
    write(tmp_path, {"a.txt": b"", "b.txt": b" \n", "c.txt": b"x"})
    assert len(list(form.documents(tmp_path))) == 3
    assert form.notes == {"files are blank": 2}


def test_what_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.png": b"", "l.txt": "Fähre".encode("latin1"), "x.txt.gz": b"\x1f\x8b0"})
    with pytest.raises(DataError, match=r"a: no text file in this directory \(\.txt, "):
        read(tmp_path / "a")
    with pytest.raises(DataError, match=r"l\.txt: not UTF-8 \(byte 1\); convert it: iconv"):
        read(tmp_path / "l.txt")
    with pytest.raises(DataError, match=r"x\.txt\.gz: the compressed data is damaged"):
        read(tmp_path / "x.txt.gz")
    with pytest.raises(DataError, match=r"none\.txt: cannot be opened"):
        read(tmp_path / "none.txt")
    with pytest.raises(UsageError, match="--column is for tables"):
        load_document_format("text", {"text": "body"})


def test_real_files() -> None:
    documents = {document["id"]: document for document in read(shared("data/messy_docs"))}
    assert len(documents) == 9
    folder = shared("data/messy_docs")
    for identity, document in documents.items():
        assert document["text"].encode() == (folder / identity).read_bytes()
    titles = {identity: document.get("title") for identity, document in documents.items()}
    assert titles["fastapi-async.md"] == "Concurrency and async / await"
    assert titles["github-terms-of-service.md"] == "GitHub Terms of Service"
    assert titles["requests-advanced.rst"] == "Advanced Usage"
    assert titles["flashrag-readme.zh.md"] == "⚡FlashRAG: 一个高效的RAG研究Python工具包"
