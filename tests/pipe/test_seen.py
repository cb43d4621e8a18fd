from __future__ import annotations

import random

import pytest

from grasp_cli.pipe import seen
from grasp_cli.pipe.seen import SeenIds


@pytest.mark.parametrize("recent", [1, 7, 64, 10_000])
def test_as_a_dictionary_would(monkeypatch: pytest.MonkeyPatch, recent: int) -> None:
    monkeypatch.setattr(seen, "_RECENT", recent)
    draw = random.Random(recent)
    mine, plain = SeenIds(), dict[str, int]()
    for place in range(3000):
        key = f"id {draw.randrange(1500)}"
        assert mine.first(key, place) == plain.setdefault(key, place)


def test_runs_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "_RECENT", 10)
    mine = SeenIds()
    for place in range(10_000):
        mine.first(str(place), place)
    assert len(mine._runs) <= 11 and sum(len(run[0]) for run in mine._runs) == 10_000
