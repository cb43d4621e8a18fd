"""Numbers of words in the mapped file against a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.retrieval.vocabulary import WORDS, Vocabulary, write_words

WORD = st.text(st.characters(exclude_characters="\n", codec="utf-8"), min_size=1, max_size=6)


@given(st.sets(WORD, max_size=40), st.lists(WORD, max_size=10))
def test_equals_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, words: set[str], others: list[str]
) -> None:
    directory, known = tmp_path_factory.mktemp("words"), sorted(words)
    write_words(directory, known)
    numbers = {word: number for number, word in enumerate(known)}
    asked = [*others, *known, *others]
    expected = [numbers[word] for word in asked if word in numbers]
    assert Vocabulary(directory, len(known)).numbers(asked) == expected


def test_cut_short(tmp_path: Path) -> None:
    write_words(tmp_path, ["a", "b"])
    (tmp_path / WORDS).write_bytes(b"a\n")
    with pytest.raises(ValueError, match="not as long"):
        Vocabulary(tmp_path, 2)
    with pytest.raises(ValueError, match="in place of"):
        Vocabulary(tmp_path, 3)
