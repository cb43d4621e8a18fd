"""The short forms of what `make soak` runs whole."""

from __future__ import annotations

from pathlib import Path

from tests.soak.fuzz import fuzz
from tests.soak.kills import kill
from tests.soak.memory import growth, sizes


def test_nonsense_is_borne(tmp_path: Path) -> None:
    found = fuzz(400, tmp_path)
    assert found.lines >= 400 and found.records > 100 and found.unreadable > 50
    assert found.failed > 0


def test_nothing_is_lost_when_jobs_are_killed(tmp_path: Path) -> None:
    found = kill(3, tmp_path, size=300)
    assert [one.command for one in found] == ["index", "compress", "answer"]
    for one in found:
        assert one.kills >= 1 and one.whole >= 1
        assert (one.lost, one.doubled, one.different) == (0, 0, 0), one


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    """Ids are remembered in 16 bytes each, and scores in their own."""
    for command, megabytes in growth(sizes((1500, 4500), tmp_path)).items():
        assert megabytes < 12, (command, megabytes)
