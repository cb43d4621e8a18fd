from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
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
        (("hotpotqa", "data.json", "--column", "text=x"), "", 2, "--column is for tables"),
        (("csv", "--column", "body=x"), "", 2, "--column body=x: write KEY=COLUMN"),
        (("csv",), "id,body\n1,x\n", 4, "stdin: no column is called text or contents; its columns"),
        (("csv",), "id,text\n", 4, "stdin: no record at all"),
        (("csv",), "id,text\n1,x\n1,y\n", 4, 'the id "1" comes twice'),
        (("text", "."), "", 4, "no text file in this directory"),
        (("trec-run", "--documents"), "", 2, "contradict each other"),
        (("trec-run", "--tag", "a b"), "", 2, "a name without spaces"),
        (("trec-run",), "", 4, "stdin: no record at all"),
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


def test_documents_from_files_and_tables(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "dam.md").write_text("# The Dam\n\nIt burst.")
    (tmp_path / "notes" / "two.txt").write_text("Two.")
    (tmp_path / "more.txt").write_text("More.")
    done = grasp("convert", "text", "notes", "more.txt")
    assert lines(done.stdout) == [
        {"id": "dam.md", "title": "The Dam", "text": "# The Dam\n\nIt burst."},
        {"id": "two.txt", "text": "Two."},
        {"id": "more.txt", "text": "More."},
    ]
    assert "3 documents written" in done.stderr
    assert lines(grasp("convert", "text", stdin="Fähre").stdout) == [
        {"id": "stdin", "text": "Fähre"}
    ]
    table = "url;x\tbody\nu1\tOne, two.\nu2\tThree.\n"
    options = ("convert", "tsv", "--column", "id=url;x", "--column", "text=body")
    done = grasp(*options, "--limit", "1", stdin=table)
    assert lines(done.stdout) == [{"id": "u1", "text": "One, two."}]


def test_parquet_from_standard_input(grasp: Run, tmp_path: Path) -> None:
    table = pyarrow.table({"id": ["a", "b"], "text": ["One.", "Two."]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    done = grasp("convert", "parquet", stdin=(tmp_path / "x.parquet").read_bytes())
    assert lines(done.stdout) == table.to_pylist()
    assert done.stdout == grasp("convert", "parquet", "x.parquet").stdout


def test_a_run_for_trec_eval(grasp: Run, tmp_path: Path) -> None:
    record = {"id": "q1", "question": "?", "contexts": [{"id": "b", "text": "x", "score": 2}]}
    text = json.dumps(record) + "\n" + json.dumps({**record, "id": "q2"}) + "\n"
    done = grasp("convert", "trec-run", "--tag", "mine", "-o", "run.txt", stdin=text)
    assert (tmp_path / "run.txt").read_text() == "q1 Q0 b 1 2.0 mine\nq2 Q0 b 1 2.0 mine\n"
    assert "2 lines written" in done.stderr
    nothing = grasp("convert", "trec-run", stdin='{"id": "q1", "question": "?"}')
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "1 records have no contexts" in nothing.stderr
