"""The short forms of what `make soak` runs whole."""

from __future__ import annotations

from pathlib import Path

from tests.soak.fuzz import fuzz


def test_nonsense_is_borne(tmp_path: Path) -> None:
    found = fuzz(400, tmp_path)
    assert found.lines >= 400 and found.records > 100 and found.unreadable > 50
