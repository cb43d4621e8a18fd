"""Fixtures: an index of a few documents made with the small encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.writer import Settings, build
from tests.retrieval.fakes import HashingEncoder

MakeIndex = Callable[..., Index]


@pytest.fixture
def make_index(tmp_path: Path) -> MakeIndex:
    """Build an index of documents in an own directory and open it."""

    def make(documents: list[dict[str, Any]], **settings: Any) -> Index:
        directory = tmp_path / f"index{len(list(tmp_path.iterdir()))}"
        build(documents, directory, Settings("hashing", "0", **settings), HashingEncoder())
        return Index(directory)

    return make
