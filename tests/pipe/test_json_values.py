from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.pipe import json_values
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.json_values import read_objects

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{}[],\n"), inner),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text('ab "\\'), VALUES, max_size=3), max_size=6)


def values(path: Path) -> list[object]:
    return [value for _, value in read_objects(path)]


@settings(max_examples=60, deadline=None)
@given(objects=OBJECTS, indent=st.sampled_from([None, 1]), escaped=st.booleans())
def test_any_layout_gives_the_same_objects(
    tmp_path_factory: pytest.TempPathFactory,
    objects: list[object],
    indent: int | None,
    escaped: bool,
) -> None:
    path = tmp_path_factory.mktemp("layout") / "x.json"
    one_by_one = "\n".join(
        json.dumps(item, indent=indent, ensure_ascii=escaped) for item in objects
    )
    array = json.dumps(objects, indent=indent, ensure_ascii=escaped)
    small, json_values._CHUNK = json_values._CHUNK, 3  # every place is a border of two reads
    try:
        for text in (one_by_one, one_by_one + "\n", f"\ufeff{array}", f" {array}\n"):
            path.write_text(text)
            assert values(path) == objects
    finally:
        json_values._CHUNK = small


def test_places_are_lines_where_objects_start(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[\n{"a": 1},\n\n  {"a":\n 2}, {"a": 3}]')
    assert [where.rsplit(":")[-1] for where, _ in read_objects(path)] == ["2", "4", "5"]


def test_compressed_and_exact_integers(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(gzip.compress(b'[{"big": 12345678901234567890123}]'))
    assert values(path) == [{"big": 12345678901234567890123}]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('{"a": 1}\n{"a": 1', ":2:", "not JSON"),
        ('[{"a": 1}, {"a": 2}', ":1:20:", "expected"),
        ('[{"a": 1} {"a": 2}]', ":1:11:", 'expected "," or "]"'),
        ('[{"a": 1},]', ":1:11:", "expected an object"),
        ('[{"a": 1}]\n{"a": 2}', ":2:1:", "after the end of the array"),
        ('{"a": 1}\n"text"', ":2:1:", "expected an object"),
        ('{"a": 1}\n\n{"a": NaN}', ":3", "NaN is not JSON"),
        ('{"a": "\\ud800"}', ":1:1:", "surrogate"),
        ('{"a": 1}\nnonsense\n{"a": 2}', ":2:1:", "expected an object): n"),
        ('[{"a": 1},\n {"a": 2, b}]', ":2:11:", "double quotes"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, place: str, reason: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    for chunk in (1, 7, 1 << 16):  # the place does not depend on what was read at once
        monkeypatch.setattr(json_values, "_CHUNK", chunk)
        with pytest.raises(DataError) as caught:
            values(path)
        assert f"x.json{place}" in str(caught.value)
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    "data", ['{"a": "é"}'.encode("latin-1"), gzip.compress(b'{"a": 1}' * 50)[:-12]]
)
def test_bytes_that_are_damaged(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"x\.json: (not UTF-8|the compressed data is damaged)"):
        values(path)


def test_an_array_is_read_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[" + ",".join(['{"a": "' + "x" * 2000 + '"}'] * 500) + ", broken")
    stream = read_objects(path)
    assert next(stream)[1]["a"].startswith("x")  # long before the broken end is met
    with pytest.raises(DataError, match="broken"):
        list(stream)
