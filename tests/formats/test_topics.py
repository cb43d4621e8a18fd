from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from grasp_cli.formats.topics import read_questions
from grasp_cli.pipe.errors import DataError

OLD = """<top>
<num> Number: 301
<title> International Organized Crime &amp; nets

<desc> Description:
Identify organizations that
mend nets.

<narr> Narrative:
A relevant document &lt; all.
</top>

<top>

<num> Number:  302 </num>
<title>Topic: Mills</title>
</top>
"""
NEW = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="covid">
  <topic number="1">
    <query>net mending</query>
    <question>how are nets mended</question>
    <narrative>All about nets.</narrative>
  </topic>
  <topic number="2" type="faceted"><query>mills</query><description>Old mills.</description></topic>
</topics>
"""
LINES = """{"_id": "1", "text": "Nets?", "metadata": {}}
{"_id": 2, "text": "Mills?", "metadata": {"url": "x"}}

{"id": "3", "question": "Dams?", "text": "kept", "answers": ["x"]}
{"query": "Fish?"}
"""


def read(folder: Path, text: str | bytes) -> list[dict[str, object]]:
    path = folder / "questions"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_questions(path))


def test_topics_in_the_old_form(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff\n" + OLD.replace("\n", "\r\n")) == [
        {
            "id": "301",
            "question": "International Organized Crime & nets",
            "description": "Identify organizations that mend nets.",
            "narrative": "A relevant document < all.",
        },
        {"id": "302", "question": "Mills"},
    ]


def test_topics_in_xml(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(NEW.encode())) == [
        {
            "id": "1",
            "question": "how are nets mended",
            "query": "net mending",
            "narrative": "All about nets.",
        },
        {"id": "2", "question": "mills", "description": "Old mills."},
    ]


def test_json_lines(tmp_path: Path) -> None:
    assert read(tmp_path, LINES) == [
        {"id": "1", "question": "Nets?"},
        {"id": "2", "question": "Mills?", "metadata": {"url": "x"}},
        {"id": "3", "question": "Dams?", "text": "kept", "answers": ["x"]},
        {"id": "q4", "question": "Fish?"},
    ]


def test_columns_with_and_without_headings(tmp_path: Path) -> None:
    expected = [{"id": "7", "question": "Nets?\tOld ones?"}, {"id": "a b", "question": "Mills?"}]
    rows = "7\tNets?\tOld ones?\r\n\r\na b\tMills?\r\n"
    assert read(tmp_path, rows) == read(tmp_path, f"\ufeffqid\tquestion\n{rows}") == expected
    assert read(tmp_path, "") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 What?\n", "questions:1: expected id, tab and question"),
        ("1\tWhat?\n2\t \n", "questions:2: expected id"),
        ("<top><title>Nets</title></top>", "topic 1 lacks a number"),
        ("<top><num>1</num></top>", "topic 1 lacks a question"),
        ('{"id": "1"}', 'questions:1: a record needs "question"'),
        (b"1\t\xff\n", "not UTF-8"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)
