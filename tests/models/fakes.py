"""Installed packages and a hub cache, made of a few files."""

from __future__ import annotations

from pathlib import Path

import pytest


def install(site: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    """An installed distribution in `site`, whose code must never be imported."""
    package = name.replace("-", "_")
    written = {f"{package}/__init__.py": b"raise AssertionError('imported')\n", **files}
    for path, data in written.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    info = site / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in written))


def hub_cache(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Let huggingface_hub look into `directory`; it reads its environment only at import."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(directory))


def cache_model(directory: Path, repository: str, files: dict[str, str]) -> Path:
    """A snapshot as the hub's library leaves it."""
    folder = directory / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / "abc123"
    for name, text in files.items():
        file = snapshot / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text("abc123")
    return snapshot
