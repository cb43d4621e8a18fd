from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.pipe.manifest import Manifest, Recipe, place_of


def test_no_secret_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recipe = Recipe(
        "answer",
        {
            "url": "https://user:hunter2@host:81/v1?token=abc",
            "api_key": "sk-123",
            "password": "hunter2",
            "tokenizer": "t",
            "model": Path("a/b"),
            "gap": "Bearer bearer1234567",
        },
    )
    Manifest(recipe.as_json(), True, 0, {"exit": 0}).write(out)
    text = place_of(out).read_text()
    for secret in ("hunter2", "user", "sk-123", "abc", "bearer1234567"):
        assert secret not in text
    options = orjson.loads(text)["options"]
    url = "https://***@host:81/v1?token=***"
    assert options == {"gap": "Bearer ***", "url": url, "tokenizer": "t", "model": "a/b"}


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    out, recipe = tmp_path / "out", Recipe("s", {"a": [1, None]}, {"m": {"name": "n"}}, "x", "1/2")
    assert Manifest.read(out) is None
    written = Manifest(recipe.as_json(), False, 3, {"exit": 7, "read": 5})
    written.write(out)
    assert Manifest.read(out) == written
    assert not recipe.differences(written.recipe)
    assert [path.name for path in tmp_path.iterdir()] == ["out.manifest.json"]
    assert place_of(out).stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "grasp manifest", "version": 2}'])
def test_what_is_no_manifest_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    place_of(tmp_path / "out").write_text(text)
    with pytest.raises(ProcessingError, match="not a manifest"):
        Manifest.read(tmp_path / "out")


def test_differences_name_both_sides() -> None:
    then = Recipe("s", {"a": 1, "b": "x", "old": 2}, {"r": {"name": "m", "sha256": None}}).as_json()
    now = Recipe("s", {"a": 1, "b": "y"}, {"r": {"name": "n", "sha256": None}}, shard="1/2")
    assert now.differences(then) == [
        'b "x", now "y"',
        "old 2, now null",
        "r model m (none), now n (none)",
        "shard None, now 1/2",
    ]
    assert Recipe("t").differences(then) == ["stage s, now t"]
