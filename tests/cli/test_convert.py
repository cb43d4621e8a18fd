from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GRASP, Run, lines


def questions(count: int) -> list[dict[str, Any]]:
    return [
        {
            "_id": f"q{number}",
            "question": f"Question {number}?",
            "answer": "yes",
            "supporting_facts": [[f"T{number}", 0], ["gone", 0]],
            "context": [[f"T{number}", ["One.", " Two."]], ["Shared", ["Three."]]],
        }
        for number in range(count)
    ]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(questions(20)))
    return path


def test_records_and_remarks(grasp: Run, dataset: Path) -> None:
    done = grasp("convert", "hotpotqa", "data.json")
    assert done.returncode == 0
    assert [record["id"] for record in lines(done.stdout)] == [f"q{n}" for n in range(20)]
    assert "20 records written" in done.stderr
    assert "20 supporting facts name a document that is not among the contexts" in done.stderr
    assert grasp("convert", "hotpotqa", "data.json", "--quiet").stderr == ""


def test_array_lines_gzip_and_standard_input_are_the_same(grasp: Run, dataset: Path) -> None:
    expected = grasp("convert", "hotpotqa", "data.json").stdout
    as_lines = "\n".join(map(json.dumps, questions(20)))
    assert grasp("convert", "hotpotqa", stdin=as_lines).stdout == expected
    packed = gzip.compress(dataset.read_bytes())
    assert grasp("convert", "hotpotqa", "-", stdin=packed).stdout == expected


def test_documents_and_records_agree_under_sample(grasp: Run, dataset: Path) -> None:
    options = ("convert", "hotpotqa", "data.json", "--sample", "5", "--seed", "7")
    records = lines(grasp(*options).stdout)
    documents = lines(grasp(*options, "--documents").stdout)
    numbers = [int(record["id"][1:]) for record in records]
    assert numbers == sorted(numbers) != list(range(5))
    expected = {c["id"]: c["text"] for record in records for c in record["contexts"]}
    assert {document["id"]: document["text"] for document in documents} == expected
    assert len(documents) == 6
    assert lines(grasp(*options).stdout) == records
    assert lines(grasp(*options[:-1], "8").stdout) != records


def test_limit_stops_early_and_output_is_whole(grasp: Run, tmp_path: Path) -> None:
    text = "\n".join([*map(json.dumps, questions(3)), "broken"])
    done = grasp("convert", "hotpotqa", "--limit", "3", "-o", "out.jsonl", stdin=text)
    assert done.returncode == 0
    assert len(lines((tmp_path / "out.jsonl").read_text())) == 3
    failed = grasp("convert", "hotpotqa", "-o", "other.jsonl", stdin=text)
    assert failed.returncode == 4
    assert "stdin:4:1: not JSON" in failed.stderr
    assert not list(tmp_path.glob("other*"))


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (("hotpot", "data.json"), "", 2, 'no format "hotpot"; the formats are hotpotqa, musique'),
        (("squad", "data.json"), "", 4, 'data.json:1: "paragraphs" must be there as a list'),
        (("hotpotqa", "none.json"), "", 4, "none.json: cannot be opened"),
        (("hotpotqa",), "", 4, "stdin: no record at all"),
        (("hotpotqa", "data.json", "data.json"), "", 4, 'the id "q0" comes twice'),
        (("hotpotqa", "data.json", "-o", "data.json"), "", 2, "this is also an input"),
        (("beir",), "", 2, "beir reads a folder"),
        (("beir", "."), "", 4, "there is no queries.jsonl"),
        (("hotpotqa", "data.json", "--limit", "0"), "", 2, "--limit"),
    ],
)
def test_what_is_wrong(
    grasp: Run, dataset: Path, arguments: tuple[str, ...], stdin: str, code: int, message: str
) -> None:
    done = grasp("convert", *arguments, stdin=stdin, COLUMNS="200")
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_input_can_be_allowed(grasp: Run) -> None:
    assert grasp("convert", "hotpotqa", "--allow-empty", stdin="[]").returncode == 0


def test_no_heavy_library_is_loaded(dataset: Path) -> None:
    code = (
        "import sys; from grasp_cli.cli.main import app\n"
        f"try: app(['convert', 'hotpotqa', {str(dataset)!r}, '-o', {os.devnull!r}])\n"
        "except SystemExit: pass\n"
        "print([n for n in ('torch', 'transformers', 'nltk', 'faiss') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def test_the_reader_may_go_away(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(questions(5000)))
    convert = subprocess.Popen(
        [*GRASP, "convert", "hotpotqa", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert convert.stdout
    assert convert.stderr
    assert b"q0" in convert.stdout.readline()
    convert.stdout.close()
    assert convert.wait(60) == 141
    assert convert.stderr.read() == b""
    convert.stderr.close()
