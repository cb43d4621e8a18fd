"""Where converted models are kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grasp_cli.models.cache import cache_directory


def test_given_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRASP_CACHE", str(tmp_path / "deep" / "cache"))
    assert cache_directory() == tmp_path / "deep" / "cache"
    assert cache_directory().is_dir()


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GRASP_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "grasp"


def test_home_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.delenv("GRASP_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    found = cache_directory()
    assert found.parent == tmp_path / "temporary"
    assert found.stat().st_mode & 0o077 == 0
    assert cache_directory() == found


def test_a_temporary_name_taken_by_a_link_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GRASP_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/proc/none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    name = cache_directory().name
    (tmp_path / name).rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert cache_directory().resolve() != tmp_path / "elsewhere"


def test_no_home_at_all() -> None:
    code = "from grasp_cli.models.cache import cache_directory; print(cache_directory().is_dir())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={})
    assert done.stdout == "True\n", done.stderr
