"""`grasp index` as a user runs it, with the embedded encoder."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import GRASP, Run, interruptible

pytestmark = pytest.mark.models

DOCUMENTS = [
    {"_id": "a", "title": "River", "contents": "The river froze in January.", "url": "u"},
    {"id": "b", "text": "The museum opened in 1911."},
    {"id": "c", "text": ""},
]
JSONL = "\n".join(map(json.dumps, DOCUMENTS))


def manifest(directory: Path) -> dict[str, object]:
    value: dict[str, object] = json.loads((directory / "index.json").read_text())
    return value


def test_standard_input_to_the_default_place(grasp: Run, tmp_path: Path) -> None:
    done = grasp("index", stdin=JSONL)
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 documents (1 without text), 2 passages, " in done.stderr
    assert done.stderr.count("\n") == 1
    made = manifest(tmp_path / "grasp_index")
    assert (made["documents"], made["passages"], made["profile"]) == (3, 2, "embedded")
    assert made["bm25"] == {"method": "lucene", "k1": 1.5, "b": 0.75, "words": 8}


def test_files_options_and_the_environment(grasp: Run, tmp_path: Path) -> None:
    sentences = " ".join(f"Sentence {i} is here." for i in range(10))
    with gzip.open(tmp_path / "one.gz", "wt") as stream:
        stream.write(json.dumps({"id": "long", "text": sentences}))
    (tmp_path / "two.jsonl").write_text(JSONL)
    options = ["--passage-words", "20", "--no-index-title", "--bm25", "okapi"]
    options += ["--stop-words", "english", "--quiet"]
    done = grasp("index", "one.gz", "two.jsonl", *options, GRASP_INDEX="here")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = manifest(tmp_path / "here")
    assert (made["documents"], made["passages"]) == (4, 4)
    assert made["bm25"]["method"] == "okapi" and not made["index_title"]
    found = grasp("retrieve", "-q", "sentence 9", "--mode", "sparse", GRASP_INDEX="here")
    assert json.loads(found.stdout)["contexts"][0]["id"] == "long#1"
    title = grasp("retrieve", "-q", "Glacier", "--mode", "sparse", "-x", "here")
    assert json.loads(title.stdout)["contexts"] == []


def test_no_document_at_all(grasp: Run, tmp_path: Path) -> None:
    done = grasp("index", stdin="\n")
    assert done.returncode == 4 and "no record at all" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert grasp("index", "--allow-empty", stdin="").returncode == 0
    found = grasp("retrieve", "-q", "river")
    assert found.returncode == 0 and json.loads(found.stdout)["contexts"] == []


def test_bad_lines_leave_the_old_index_or_are_put_aside(grasp: Run, tmp_path: Path) -> None:
    grasp("index", stdin=JSONL)
    before = (tmp_path / "grasp_index" / "index.json").read_bytes()
    broken = f'{JSONL}\n{{"id": "x", "text": 1}}\n{{"id": "a", "text": "again"}}\n'
    done = grasp("index", stdin=broken)
    assert done.returncode == 4 and "stdin:4" in done.stderr
    assert (tmp_path / "grasp_index" / "index.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["grasp_index"]
    done = grasp("index", "--on-error", "quarantine", "--quarantine", "bad.jsonl", stdin=broken)
    assert done.returncode == 7 and "2 unreadable" in done.stderr
    kept = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [line["number"] for line in kept] == [4, 5]
    assert '"a" was used before, at stdin:1' in kept[1]["message"]


def test_another_directory_is_not_overwritten(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("…")
    done = grasp("index", "-x", "thesis", stdin=JSONL)
    assert done.returncode == 2 and "not an index" in done.stderr
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]


def test_interrupted(tmp_path: Path) -> None:
    command = [*GRASP, "index", "-x", "here"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=tmp_path, preexec_fn=interruptible
    ) as process:
        assert process.stdin
        process.stdin.write(JSONL.encode() + b"\n")
        process.stdin.flush()
        deadline = time.monotonic() + 120
        while not (tmp_path / "here.building" / "dense.vectors").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


def test_missing_model(grasp: Run, tmp_path: Path) -> None:
    done = grasp("index", "--dense-model", "nobody/nothing", stdin=JSONL)
    assert done.returncode == 3 and "nobody/nothing" in done.stderr
    assert list(tmp_path.iterdir()) == []
