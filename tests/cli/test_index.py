"""`grasp index` as a user runs it, with the embedded encoder."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
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
    assert grasp("index", "--verify").returncode == 0
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
        while not (tmp_path / "here.building" / "vectors.bin").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


def test_interrupted_after_a_block_and_resumed(grasp: Run, tmp_path: Path) -> None:
    documents = [json.dumps({"id": str(i), "text": f"ice {i}"}) for i in range(1100)]
    (tmp_path / "all.jsonl").write_text("\n".join(documents))
    with subprocess.Popen(
        [*GRASP, "index", "-x", "here"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        preexec_fn=interruptible,
        text=True,
    ) as process:
        assert process.stdin and process.stderr
        process.stdin.write("\n".join(documents) + "\n")
        process.stdin.flush()
        deadline = time.monotonic() + 240
        while not (tmp_path / "here.building" / "progress.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "1024 passages are kept" in process.stderr.read()
    assert not (tmp_path / "here").exists()
    done = grasp("index", "all.jsonl", "-x", "here", "--resume")
    assert done.returncode == 0, done.stderr
    assert "went on from 1024 passages" in done.stderr
    assert "1100 documents, 1100 passages" in done.stderr
    assert grasp("index", "all.jsonl", "-x", "anew").returncode == 0
    assert manifest(tmp_path / "here") == manifest(tmp_path / "anew")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.jsonl", "anew", "here"]


def test_missing_model(grasp: Run, tmp_path: Path) -> None:
    done = grasp("index", "--dense-model", "nobody/nothing", stdin=JSONL)
    assert done.returncode == 3 and "nobody/nothing" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_append_replace_delete(grasp: Run, tmp_path: Path) -> None:
    grasp("index", stdin=JSONL)
    added = [{"id": "b", "text": "The museum closed."}, {"id": "d", "text": "A lighthouse."}]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, added)))
    (tmp_path / "gone.txt").write_text("a\nnobody\n")
    done = grasp("index", "--append", "new.jsonl", "--delete-ids", "gone.txt")
    assert done.returncode == 0, done.stderr
    assert "1 added, 1 replaced, 1 deleted" in done.stderr
    assert "1 of the ids to delete are not in the index" in done.stderr
    assert "3 documents (1 without text), 2 passages" in done.stderr
    found = grasp("retrieve", "-q", "museum river", "--mode", "sparse")
    texts = [context["text"] for context in json.loads(found.stdout)["contexts"]]
    assert texts == ["The museum closed."]
    (tmp_path / "gone.txt").write_text("d\n")
    done = grasp("index", "--delete-ids", "gone.txt", stdin=None)
    assert done.returncode == 0 and "0 added, 0 replaced, 1 deleted" in done.stderr
    assert grasp("index", "--verify").returncode == 0


def test_append_keeps_the_settings(grasp: Run, tmp_path: Path) -> None:
    grasp("index", "--passage-words", "20", "--stem", "english", stdin=JSONL)
    more = '{"id": "z", "text": "Ships."}'
    done = grasp("index", "--append", "--passage-words", "30", stdin=more)
    assert done.returncode == 2
    assert (
        "--passage-words 20, not 30" in done.stderr and "leave --passage-words out" in done.stderr
    )
    again = ["--passage-words", "20", "--dtype", "auto"]
    done = grasp("index", "--append", *again, stdin=more, GRASP_PROFILE="paper")
    assert done.returncode == 0, done.stderr
    assert manifest(tmp_path / "grasp_index")["tokenizer"]["stem"] == "english"


def test_append_without_an_index_or_documents(grasp: Run, tmp_path: Path) -> None:
    done = grasp("index", "--append", stdin=JSONL)
    assert done.returncode == 3 and "there is no index here" in done.stderr
    grasp("index", stdin=JSONL)
    done = grasp("index", "--append", stdin="")
    assert done.returncode == 4 and "no record at all" in done.stderr
    done = grasp("index", "--delete-ids", "missing.txt")
    assert done.returncode == 4 and "missing.txt" in done.stderr


def test_verify_and_stats(grasp: Run, tmp_path: Path) -> None:
    grasp("index", "--dense-dtype", "float16", stdin=JSONL)
    done = grasp("index", "--verify")
    assert (done.returncode, done.stdout) == (0, "")
    assert "all whole: grasp_index" in done.stderr
    done = grasp("index", "--stats")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["documents", "3"] in rows and ["passages", "2"] in rows
    assert "384 x float16" in done.stdout and "all-MiniLM-L6-v2" in done.stdout
    part = tmp_path / "grasp_index" / "passages.jsonl"
    part.write_bytes(part.read_bytes().replace(b"froze", b"frOze"))
    done = grasp("index", "--verify")
    assert done.returncode == 5 and "damaged: passages.jsonl; make" in done.stderr
    assert grasp("index", "--stats", "x.jsonl").returncode == 2
    assert grasp("index", "--verify", "-x", "nowhere").returncode == 3


def test_duplicate_ids_name_both_places(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"id": "a", "text": "ice"}\n\n')
    (tmp_path / "two.jsonl").write_text('{"id": "b", "text": "x"}\n{"id": "a", "text": "sun"}\n')
    done = grasp("index", "one.jsonl", "two.jsonl")
    assert done.returncode == 4
    assert 'two.jsonl:2: the id "a" was used before, at one.jsonl:1' in done.stderr


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
sys.argv = ["grasp", "index", "new.jsonl"]
from grasp_cli.cli.main import main
main()
"""


def test_a_full_disk_leaves_the_old_index(grasp: Run, tmp_path: Path) -> None:
    """No file may grow beyond 2,000 bytes, which is how a full disk looks to the program."""
    grasp("index", stdin=JSONL)
    before = (tmp_path / "grasp_index" / "index.json").read_bytes()
    new = [{"id": str(i), "text": "A longer text about rivers. " * 20} for i in range(5)]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, new)))
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 5, done.stderr
    assert "grasp_index: cannot be written: File too large" in done.stderr
    assert "what was there is unchanged" in done.stderr
    assert (tmp_path / "grasp_index" / "index.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grasp_index", "new.jsonl"]
    assert grasp("index", "--verify").returncode == 0
