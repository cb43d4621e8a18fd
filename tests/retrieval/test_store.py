"""The index directory: complete or not there, checked when it is read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.errors import MissingError, ProcessingError, UsageError
from grasp_cli.retrieval.ids import part_mark
from grasp_cli.retrieval.store import Index, Manifest
from grasp_cli.retrieval.workplace import interrupted
from grasp_cli.retrieval.writer import Settings, build
from tests.retrieval.conftest import MakeIndex
from tests.retrieval.fakes import HashingEncoder

RIVER = {"id": "r", "title": "River", "text": "The river froze.", "url": "u", "score": 7}
LONG = {"id": "l", "text": "One two three four. Five six seven eight. Nine ten eleven twelve."}
SETTINGS = Settings("hashing", "0")


def contexts(index: Index) -> list[dict[str, Any]]:
    return [index.context(position, {}) for position in range(index.manifest.passages)]


def content(directory: Path) -> dict[str, bytes]:
    """Every file of a directory; the index it held is the same only if these are."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_whole_document_comes_back_with_its_keys(make_index: MakeIndex) -> None:
    (found,) = contexts(make_index([RIVER]))
    assert found == RIVER
    assert list(found) == ["id", "title", "text", "url", "score"]


def test_parts_carry_their_place(make_index: MakeIndex) -> None:
    found = contexts(make_index([{**LONG, "start": "mine", "url": "u"}], passage_words=8))
    assert [(c["id"], c["doc_id"]) for c in found] == [("l#0", "l"), ("l#1", "l")]
    assert all(LONG["text"][c["start"] : c["end"]] == c["text"] for c in found)
    assert {c["url"] for c in found} == {"u"}


def test_what_was_found_stands_before_foreign_keys_and_wins(make_index: MakeIndex) -> None:
    found = make_index([RIVER]).context(0, {"score": 0.5, "rank": 1})
    assert list(found) == ["id", "title", "text", "score", "rank", "url"]
    assert found["score"] == 0.5


def test_texts_survive_exactly(make_index: MakeIndex) -> None:
    text = 'a\tb\r\nc \u2028 水 🍜 \x00 " \\ é'
    assert contexts(make_index([{"id": "x", "text": text, "n": 2**70}]))[0]["text"] == text


def test_blank_documents_are_counted_and_not_found(make_index: MakeIndex) -> None:
    documents = [{"id": "a", "text": ""}, {"id": "b", "text": " \n"}, {"id": "c", "text": "ice"}]
    manifest = make_index(documents).manifest
    assert (manifest.documents, manifest.empty, manifest.passages) == (3, 2, 1)


def test_title_alone_can_be_found_only_where_titles_are_indexed(make_index: MakeIndex) -> None:
    documents = [{"id": "a", "title": "Ice", "text": ""}]
    assert make_index(documents).manifest.passages == 1
    assert make_index(documents, index_title=False).manifest.passages == 0


def test_title_is_searched_only_when_asked(make_index: MakeIndex) -> None:
    documents = [{"id": "a", "title": "Glacier", "text": "ice"}, {"id": "b", "text": "sun"}]
    assert len(make_index(documents).sparse.search("glacier", 5)) == 1
    assert len(make_index(documents, index_title=False).sparse.search("glacier", 5)) == 0


IDS = st.lists(st.text("a#01", min_size=1, max_size=4), unique=True, min_size=1, max_size=6)


@given(IDS, st.data())
def test_no_passage_has_the_id_of_another(names: list[str], data: st.DataObject) -> None:
    ids: list[tuple[str, int | None]] = []
    for name in names:
        parts = data.draw(st.integers(0, 3))
        ids += [(name, None)] if parts < 2 else [(name, part) for part in range(parts)]
    mark = part_mark(ids)
    made = [name if part is None else f"{name}{mark}{part}" for name, part in ids]
    assert len(set(made)) == len(made)


def test_ids_with_the_mark_stay_as_they_are(make_index: MakeIndex) -> None:
    whole = {"id": "l#1", "text": "short"}
    found = contexts(make_index([LONG, whole], passage_words=8))
    assert [c["id"] for c in found] == ["l##0", "l##1", "l#1"]


def test_same_input_same_bytes(make_index: MakeIndex) -> None:
    first, second = make_index([RIVER, LONG]), make_index([RIVER, LONG])
    assert content(first.directory) == content(second.directory)
    other = make_index([RIVER, {**LONG, "text": "else"}])
    assert other.manifest.content != first.manifest.content


def test_passages_come_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a window of texts is taken before it is encoded and written."""
    encoder, taken = HashingEncoder(), 0

    def documents() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(2500):
            taken += 1
            assert taken - sum(encoder.batches) <= 1025
            yield {"id": str(number), "text": f"text {number}"}

    build(documents(), tmp_path / "x", SETTINGS, encoder)
    assert encoder.batches == [1024, 1024, 452]


def test_no_index() -> None:
    with pytest.raises(MissingError, match=r"grasp index DOCUMENTS\.jsonl -x nowhere"):
        _ = Index(Path("nowhere")).manifest


def test_other_version_is_refused(make_index: MakeIndex) -> None:
    directory = make_index([RIVER]).directory
    manifest = json.loads((directory / "index.json").read_text())
    (directory / "index.json").write_text(json.dumps({**manifest, "version": 99}))
    with pytest.raises(ProcessingError, match=r"format 99, .* format 2; it needs a newer grasp"):
        Manifest.read(directory)
    (directory / "index.json").write_text(json.dumps({**manifest, "version": 1}))
    with pytest.raises(ProcessingError, match=r"format 1, .* format 2; make it again"):
        Manifest.read(directory)


PARTS = [
    "index.json",
    "passages.jsonl",
    "offsets.npy",
    "order.npy",
    "vectors.bin",
    "bm25/scores.npy",
    "bm25/passages.npy",
    "bm25/starts.npy",
    "bm25/words.txt",
    "bm25/words.npy",
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("keep", [0.0, 0.6, None])
def test_truncated_or_missing_part(part: str, keep: float | None, make_index: MakeIndex) -> None:
    documents = [{"id": str(i), "text": f"text {i} of many"} for i in range(30)]
    index = make_index(documents)
    path = index.directory / part
    if keep is None:
        path.unlink()
    else:
        os.truncate(path, int(path.stat().st_size * keep))
    with pytest.raises((ProcessingError, MissingError), match="grasp index DOCUMENTS"):
        index.sparse.search("text", 3)
        index.dense.search(HashingEncoder().embed(["text"]), 3)
        index.context(29, {})


def test_old_index_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    before = content(tmp_path / "x")

    def failing() -> Iterator[dict[str, Any]]:
        yield LONG
        assert content(tmp_path / "x") == before
        raise OSError(28, "No space left on device")

    with pytest.raises(ProcessingError, match="No space left on device"):
        build(failing(), tmp_path / "x", SETTINGS, HashingEncoder())
    assert content(tmp_path / "x") == before
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    build([LONG], tmp_path / "x", SETTINGS, HashingEncoder())
    assert [c["id"] for c in contexts(Index(tmp_path / "x"))] == ["l"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert "lock" not in content(tmp_path / "x")


def test_an_open_index_survives_its_replacement(tmp_path: Path) -> None:
    build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    index = Index(tmp_path / "x")
    contexts(index)
    build([LONG], tmp_path / "x", SETTINGS, HashingEncoder())
    assert contexts(index) == [RIVER]


def test_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="not an index"):
        build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    assert content(tmp_path / "x") == {"letter.txt": b"dear"}


def test_an_empty_directory_and_a_link_are_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    build([RIVER], tmp_path / "link", SETTINGS, HashingEncoder())
    assert (tmp_path / "link").is_symlink()
    assert contexts(Index(tmp_path / "real")) == [RIVER]


def test_two_builds_at_once(tmp_path: Path) -> None:
    (tmp_path / "x.building").mkdir()
    with (
        FileLock(tmp_path / "x.building" / "lock"),
        pytest.raises(ProcessingError, match="another grasp index is writing"),
    ):
        build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    assert (tmp_path / "x.building").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from grasp_cli.retrieval.writer import Settings, build
from tests.retrieval.fakes import HashingEncoder
def documents():
    for number in range(1500):
        yield {"id": str(number), "text": f"text {number}"}
    os.kill(os.getpid(), signal.SIGKILL)
build(documents(), Path(sys.argv[1]), Settings("hashing", "0"), HashingEncoder())
"""


def test_a_killed_build_is_cleared_away(tmp_path: Path) -> None:
    build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "x")],
        timeout=60,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert done.returncode == -signal.SIGKILL
    assert interrupted(tmp_path / "x") == 1024
    assert contexts(Index(tmp_path / "x")) == [RIVER]
    build([LONG], tmp_path / "x", SETTINGS, HashingEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert [c["id"] for c in contexts(Index(tmp_path / "x"))] == ["l"]


def test_killed_between_the_two_renames(tmp_path: Path) -> None:
    """The old index was moved away and the new one not yet there: the next build starts from it."""
    build([RIVER], tmp_path / "x", SETTINGS, HashingEncoder())
    (tmp_path / "x").rename(tmp_path / "x.old")

    def failing() -> Iterator[dict[str, Any]]:
        raise OSError(5, "Input/output error")
        yield

    with pytest.raises(ProcessingError):
        build(failing(), tmp_path / "x", SETTINGS, HashingEncoder())
    assert contexts(Index(tmp_path / "x")) == [RIVER]


class Blank:
    """An encoder that takes no time."""

    dimension = 2

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        assert len(texts) <= 1024
        return np.zeros((len(texts), 2), np.float32)


def test_one_document_of_five_megabytes(tmp_path: Path) -> None:
    """It is cut, encoded in windows, and every passage is where it says."""
    text = " ".join(f"The {number}th gate of the lock is shut." for number in range(150_000))
    assert len(text) > 5_000_000
    documents = [{"id": "long", "text": text}, RIVER]
    build(documents, tmp_path / "x", SETTINGS, Blank())
    index = Index(tmp_path / "x")
    assert index.manifest.documents == 2 and index.manifest.passages > 5000
    (found,) = index.sparse.search("99999th", 1).positions
    context = index.context(int(found), {})
    assert "99999th" in context["text"]
    assert text[context["start"] : context["end"]] == context["text"]
