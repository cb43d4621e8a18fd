from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from grasp_cli.evaluation.rouge import common_subsequence, rouge_l

SOME = ["the", "a", "cat", "cats", "sitting", "sat", "flies", "U.S.", "don't", "3", "_x_"]
WORDS = st.lists(st.sampled_from(SOME)).map(" ".join)
LATIN = WORDS | st.text(st.characters(codec="latin-1"), max_size=20)


def naive_lcs(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    @cache
    def length(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return 0
        if first[i] == second[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


@settings(deadline=None)
@given(*[st.lists(st.sampled_from("abcd"), max_size=14).map(tuple)] * 2)
def test_common_subsequence(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    assert common_subsequence(first, second) == naive_lcs(first, second)


THEIRS = {stem: RougeScorer(["rougeL"], use_stemmer=stem) for stem in (False, True)}


@settings(max_examples=300, deadline=None)
@given(gold=LATIN, answer=LATIN, stemming=st.booleans())
def test_latin_text_scores_as_rouge_score(gold: str, answer: str, stemming: bool) -> None:
    score = rouge_l(gold, answer, stemming=stemming)
    theirs = THEIRS[stemming].score(gold, answer)["rougeL"].fmeasure
    assert (score or 0.0) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("北京大学", "北京大学", 1),
        ("北京大学", "清华大学", 0.5),
        ("Москва", "столица Москва", 2 / 3),
        ("हिन्दी भाषा", "हिन्दी", 2 / 3),
        ("Tokyo 東京", "東京", 0.8),
        ("北京", "Beijing", 0),
    ],
)
def test_other_scripts(gold: str, answer: str, expected: float) -> None:
    assert rouge_l(gold, answer) == pytest.approx(expected)
    assert rouge_l(gold, answer, stemming=True) == pytest.approx(expected)


def test_no_token_in_the_gold_answer() -> None:
    assert rouge_l("?", "?") is None
    assert rouge_l("word", "?") == 0
