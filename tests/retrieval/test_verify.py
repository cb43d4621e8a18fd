"""Every byte of an index is checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grasp_cli.pipe.errors import MissingError, ProcessingError
from grasp_cli.retrieval.checksums import files_of
from grasp_cli.retrieval.stats import stats
from grasp_cli.retrieval.verify import verify
from tests.retrieval.conftest import MakeIndex
from tests.retrieval.test_store import LONG, RIVER

DOCUMENTS = [RIVER, LONG, {"id": "blank", "text": ""}]


def test_a_whole_index(make_index: MakeIndex) -> None:
    index = make_index(DOCUMENTS)
    files, size = verify(index.directory)
    paths = [path for path in index.directory.rglob("*") if path.is_file()]
    assert files == len(paths)
    assert size == sum(p.stat().st_size for p in paths if p.name != "index.json")
    verify(make_index([]).directory)


def test_one_changed_bit_anywhere(make_index: MakeIndex) -> None:
    directory = make_index(DOCUMENTS).directory
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        data = bytearray(path.read_bytes())
        if path.name == "index.json" or not data:
            continue
        data[len(data) // 2] ^= 1
        before = path.read_bytes()
        path.write_bytes(data)
        with pytest.raises(ProcessingError, match=path.name):
            verify(directory)
        path.write_bytes(before)
    verify(directory)


def test_every_damaged_part_is_named(make_index: MakeIndex) -> None:
    directory = make_index(DOCUMENTS).directory
    (directory / "order.npy").unlink()
    (directory / "bm25" / "scores.npy").write_bytes(b"")
    with pytest.raises(ProcessingError, match=r"damaged: bm25/scores\.npy, order\.npy; make"):
        verify(directory)


def change(directory: Path, **values: object) -> None:
    manifest = json.loads((directory / "index.json").read_text())
    (directory / "index.json").write_text(json.dumps({**manifest, **values}))


def test_settings_that_are_not_those_of_the_content(make_index: MakeIndex) -> None:
    directory = make_index(DOCUMENTS).directory
    change(directory, passage_words=7)
    with pytest.raises(ProcessingError, match=r"damaged: index\.json"):
        verify(directory)


def test_parts_of_two_indexes(make_index: MakeIndex) -> None:
    """Each file is as some build wrote it, but they do not belong together."""
    one = make_index([{"id": "a", "text": "ice"}, {"id": "b", "text": "sun"}]).directory
    two = make_index([{"id": "b", "text": "ice"}, {"id": "a", "text": "sun"}]).directory
    (one / "order.npy").write_bytes((two / "order.npy").read_bytes())
    files = files_of(one)
    del files["index.json"]
    change(one, files=files)
    with pytest.raises(ProcessingError, match=r"order\.npy"):
        verify(one)


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        verify(tmp_path)


def test_stats_say_what_the_manifest_says(make_index: MakeIndex) -> None:
    index = make_index(DOCUMENTS, passage_words=8, dense_dtype="float16", ann="ivfpq")
    told = {row["what"]: row["value"] for row in stats(index).rows}
    assert (told["documents"], told["without text"], told["passages"]) == (3, 1, 3)
    assert told["vectors"] == "16 x float16"
    assert told["vector search"].startswith("exact (ivfpq from 9984")
    assert told["passage length"] == "at most 8 words"
    assert told["words"] == index.manifest.bm25["words"]
