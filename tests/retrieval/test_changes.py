"""Adding, replacing and deleting: the same index as one made anew of what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.writer import Built, Settings, build
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.test_store import content

SETTINGS = Settings("hashing", "0", passage_words=6)
TEXTS = ["", "ice", "River ice. The sun rose over it. A museum.", "sun sun", "Wort für Wort."]
DOCUMENT = st.tuples(st.integers(0, 9), st.sampled_from(TEXTS))
DOCUMENTS = st.lists(DOCUMENT, max_size=8, unique_by=lambda d: d[0])


def documents(pairs: list[tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"id": f"d{number}", "text": text, "n": number} for number, text in pairs]


def change(directory: Path, added: list[dict[str, Any]], delete: set[str]) -> Built:
    base = Index(directory)
    settings = base.manifest.settings
    return build(added, directory, settings, HashingEncoder(), base=base, delete=delete)


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, DOCUMENTS, st.sets(st.integers(0, 9), max_size=4))
def test_equals_an_index_made_anew(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[int, str]],
    second: list[tuple[int, str]],
    deleted: set[int],
) -> None:
    place = tmp_path_factory.mktemp("changes")
    build(documents(first), place / "changed", SETTINGS, HashingEncoder())
    built = change(place / "changed", documents(second), {f"d{n}" for n in deleted})
    gone = {number for number, _ in second} | deleted
    left = [pair for pair in first if pair[0] not in gone] + second
    build(documents(left), place / "anew", SETTINGS, HashingEncoder())
    assert content(place / "changed") == content(place / "anew")
    old = {number for number, _ in first}
    assert built.deleted == len(old & deleted)
    assert built.unknown == len(deleted - old)
    assert built.replaced == len(({number for number, _ in second} & old) - deleted)


def test_what_stays_is_not_encoded_again(tmp_path: Path) -> None:
    build(documents([(1, "ice"), (2, "sun")]), tmp_path / "x", SETTINGS, HashingEncoder())
    base, encoder = Index(tmp_path / "x"), HashingEncoder()
    build(documents([(3, "river")]), tmp_path / "x", SETTINGS, encoder, base=base)
    assert encoder.batches == [1]
    assert Index(tmp_path / "x").manifest.documents == 3


def test_other_settings_are_refused(tmp_path: Path) -> None:
    build(documents([(1, "ice")]), tmp_path / "x", SETTINGS, HashingEncoder())
    base = Index(tmp_path / "x")
    with pytest.raises(UsageError, match="keeps its settings"):
        build([], tmp_path / "x", Settings("hashing", "0"), HashingEncoder(), base=base)


def test_a_base_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    build(documents([(1, "ice")]), tmp_path / "x", SETTINGS, HashingEncoder())
    base = Index(tmp_path / "x")
    _ = base.vectors
    change(tmp_path / "x", documents([(2, "sun")]), set())
    with pytest.raises(ProcessingError, match="just changed"):
        build(documents([(3, "river")]), tmp_path / "x", SETTINGS, HashingEncoder(), base=base)
    assert Index(tmp_path / "x").manifest.documents == 2


def test_a_damaged_base_is_said_before_any_work(tmp_path: Path) -> None:
    build(documents([(1, "ice"), (2, "sun")]), tmp_path / "x", SETTINGS, HashingEncoder())
    vectors = tmp_path / "x" / "vectors.bin"
    vectors.write_bytes(vectors.read_bytes()[:-1])
    encoder = HashingEncoder()
    with pytest.raises(ProcessingError, match=r"vectors\.bin: missing or damaged"):
        build(documents([(3, "x")]), tmp_path / "x", SETTINGS, encoder, base=Index(tmp_path / "x"))
    assert encoder.batches == []
