from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import DataError
from tests.formats.helpers import convert

TRIVIA = {"value": "Nets", "aliases": ["Nets", "Fishing nets"], "normalized_aliases": ["nets"]}


@pytest.mark.parametrize(
    ("item", "answers"),
    [
        ({"answer": ["Nets", "nets", "Nets"]}, ["Nets", "nets"]),
        ({"answer": "Nets"}, ["Nets"]),
        ({"answers": ["Nets"], "answer": "left"}, ["Nets"]),
        ({"answer": TRIVIA}, ["Nets", "Fishing nets"]),
        ({"answers": []}, []),
    ],
)
def test_all_aliases_are_answers(tmp_path: Path, item: Any, answers: list[str]) -> None:
    records, _ = convert("open-qa", tmp_path, {"question": "What?", **item})
    assert records == [{"id": "q1", "question": "What?", "answers": answers}]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"question": "?"}, '"answer" must be there as a string; keys: question'),
        ({"question": "?", "answer": [3]}, "the answers must be strings"),
        ({"question": "?", "answer": {"aliases": []}}, '"value" must be there as a string'),
        ({"answer": "x"}, '"question" must be there'),
    ],
)
def test_what_does_not_fit(tmp_path: Path, item: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert("open-qa", tmp_path, item)
