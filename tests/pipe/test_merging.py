from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.merging import merged


def shard(path: Path, ids: list[str]) -> Path:
    path.write_text("".join(json.dumps({"id": key, "n": path.name}) + "\n" for key in ids))
    return path


def ids(lines: object) -> list[str]:
    return [json.loads(line)["id"] for line in lines]  # type: ignore[attr-defined]


@given(st.integers(1, 60), st.integers(1, 5), st.randoms(use_true_random=False), st.booleans())
def test_the_order_is_that_of_the_input(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    shards: int,
    draw: random.Random,
    shuffled: bool,
) -> None:
    """Also where a shard was continued, so that it is in order piece by piece or not at all."""
    folder = tmp_path_factory.mktemp("shards")
    order = [f"q{number}" for number in range(count)]
    draw.shuffle(order)
    own: list[list[str]] = [[] for _ in range(shards)]
    for key in order:
        draw.choice(own).append(key)
    if shuffled:
        for keys in own:
            draw.shuffle(keys)
    paths = [shard(folder / str(number), keys) for number, keys in enumerate(own)]
    assert ids(merged(paths, lambda: order)) == order


def test_a_shard_in_no_order_at_all(tmp_path: Path) -> None:
    order = [str(number) for number in range(400)]
    path = shard(tmp_path / "a", order[::-1])
    assert ids(merged([path], lambda: order)) == order


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (["a", "b"], ["d"], r"in no shard: 2 ids \(c, e\)"),
        (["a", "b", "c"], ["c", "d", "e"], r"twice in the shards: 1 ids \(c\)"),
        (["a", "b", "x"], ["c", "d", "e"], r'a:3: the id "x" is not in the input'),
        ([], [], r"in no shard: 5 ids \(a, b, c, …\)"),
    ],
)
def test_none_is_missing_twice_or_unknown(
    tmp_path: Path, first: list[str], second: list[str], told: str
) -> None:
    paths = [shard(tmp_path / "a", first), shard(tmp_path / "b", second)]
    with pytest.raises(DataError, match=told):
        merged(paths, lambda: list("abcde"))


def test_lines_stay_as_they_are_and_nothing_is_nothing(tmp_path: Path) -> None:
    line = b'{"n":  1.50, "id":"a", "big":123456789012345678901234}'
    (tmp_path / "a").write_bytes(line + b"\n")
    assert list(merged([tmp_path / "a"], lambda: ["a"])) == [line]
    assert list(merged([shard(tmp_path / "b", [])], lambda: [])) == []
