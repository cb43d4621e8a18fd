from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.evaluation.answers import FUNCTIONS, STEMMED, score_answer
from grasp_cli.text.refusals import REFUSALS

WORDS = [
    "the",
    "a",
    "an",
    "no",
    "yes",
    "Ann",
    "ann",
    "Bob",
    "1990",
    "U.S.",
    "don't",
    "?",
    "noanswer",
]
LATIN = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.text(
    st.characters(codec="latin-1"), max_size=12
)
ANY = st.lists(st.sampled_from([*WORDS, "北京", "大学", "東京タワー", "Москва"]), max_size=6).map(
    " ".join
) | st.text(max_size=12)


def squad_normal(text: str) -> str:
    """The normalisation of SQuAD's evaluation, step by step."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def hotpot_f1(answer: str, gold: str) -> float:
    """HotpotQA's F1: SQuAD's, with yes, no and noanswer apart."""
    answer, gold = squad_normal(answer), squad_normal(gold)
    if answer != gold and {answer, gold} & {"yes", "no", "noanswer"}:
        return 0.0
    same = sum((Counter(answer.split()) & Counter(gold.split())).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(answer.split()), same / len(gold.split())
    return 2 * precision * recall / (precision + recall)


YES_NO = ("yes", "no")


def naive_contains(answer: str, gold: str) -> bool:
    return f" {squad_normal(gold)} " in f" {squad_normal(answer)} "


@settings(deadline=None)
@given(gold=LATIN.filter(squad_normal), answer=LATIN)
def test_metrics_are_those_of_squad_and_hotpotqa(gold: str, answer: str) -> None:
    scores = score_answer(answer, [gold])
    if squad_normal(gold) in YES_NO:
        first = squad_normal(answer).split()[:1]
        assert scores == dict.fromkeys(FUNCTIONS, float(first == [squad_normal(gold)]))
        return
    assert scores["em"] == (squad_normal(answer) == squad_normal(gold))
    assert scores["contains"] == naive_contains(answer, gold)
    assert scores["f1"] == pytest.approx(hotpot_f1(answer, gold))


@settings(deadline=None)
@given(answer=ANY, golds=st.lists(ANY, min_size=1, max_size=4))
def test_ranges_order_and_aliases(answer: str, golds: list[str]) -> None:
    scores = score_answer(answer, golds)
    assert all(0 <= value <= 1 for value in scores.values())
    assert scores["em"] <= min(scores["contains"], scores["f1"])
    assert scores == score_answer(answer, golds[::-1])
    fewer = score_answer(answer, golds[:1])
    assert all(fewer[name] <= scores[name] for name in FUNCTIONS)  # an alias can only help
    exact = score_answer(golds[0], golds)
    assert exact == dict.fromkeys(FUNCTIONS, 1.0)


@pytest.mark.parametrize(
    ("gold", "answer", "em", "contains", "f1"),
    [
        ("no", "I do not know", 0, 0, 0),  # tokens, not letters
        ("no", "no, he did not", 1, 1, 1),  # the first token decides
        ("no", "The no.", 1, 1, 1),
        ("yes", "Yes.", 1, 1, 1),
        ("Yes", "It is so, yes", 0, 0, 0),
        ("yes", "no, yes", 0, 0, 0),
        ("no man", "no", 0, 0, 0),
        ("noanswer", "noanswer at all", 0, 1, 0),
        ("the Beatles", "Beatles", 1, 1, 1),
        ("New York City", "It is New York", 0, 0, 4 / 7),
        ("New York", "in New York City", 0, 1, 2 / 3),
        ("1990", "19901", 0, 0, 0),
        ("Röntgen", "röntgen", 1, 1, 1),
        ("caf\u00e9", "cafe\u0301", 1, 1, 1),
    ],
)
def test_by_hand(gold: str, answer: str, em: float, contains: float, f1: float) -> None:
    scores = score_answer(answer, [gold])
    assert (scores["em"], scores["contains"]) == (em, contains)
    assert scores["f1"] == pytest.approx(f1)


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("A", "the blood group is B", 0),
        ("A", "the blood group is A", 0),
        ("A", "the", 0),
        ("A", "", 0),
        ("A", "a", 1),
        ("A", "A.", 1),
        ("The The", "the the", 1),
        ("+", "-", 0),
        ("+", "+", 1),
        ("?", "", 0),
    ],
)
def test_gold_that_normalises_to_nothing(gold: str, answer: str, right: float) -> None:
    scores = score_answer(answer, [gold])
    assert {name: scores[name] for name in ("em", "contains", "f1")} == dict.fromkeys(
        ("em", "contains", "f1"), right
    )


def test_a_gold_letter_is_a_word_for_rouge() -> None:
    assert score_answer("the blood group is B", ["A"])["rouge_l"] == 0
    assert score_answer("A", ["A"])["rouge_l"] == 1
    assert score_answer("+", ["+"])["rouge_l"] == 1
    assert score_answer("-", ["+"])["rouge_l"] == 0


@pytest.mark.parametrize(
    ("gold", "answer", "em", "contains", "f1"),
    [
        ("北京大学", "北京大学", 1, 1, 1),
        ("北京大学", "北京大学。", 1, 1, 1),
        ("北京大学", "北京 大学", 1, 1, 1),
        ("北京大学", "他在北京大学学习", 0, 1, 2 * 4 / 12),
        ("北京大学", "北京", 0, 0, 2 * 2 / 6),
        ("24 次", "24次", 1, 1, 1),
        ("２０２０年", "2020年", 1, 1, 1),
        ("東京タワー", "「東京タワー」", 1, 1, 1),
        ("Москва", "москва", 1, 1, 1),
        ("서울", "서울", 1, 1, 1),
        ("北京", "上海", 0, 0, 0),
    ],
)
def test_answers_outside_ascii(
    gold: str, answer: str, em: float, contains: float, f1: float
) -> None:
    scores = score_answer(answer, [gold])
    assert (scores["em"], scores["contains"]) == (em, contains)
    assert scores["f1"] == pytest.approx(f1)
    assert (scores["rouge_l"] == 1) == (em == 1)


def test_yes_or_no_among_other_gold_answers() -> None:
    assert score_answer("Yes, in Leith", ["Leith", "yes"]) == dict.fromkeys(FUNCTIONS, 1.0)
    scores = score_answer("in Leith, yes", ["Leith", "yes"])
    assert (scores["em"], scores["contains"], scores["f1"]) == (0, 1, pytest.approx(0.5))


def test_stemming_is_asked_for() -> None:
    functions = FUNCTIONS | STEMMED
    assert "rouge_l_stem" not in score_answer("x", ["x"])
    scores = score_answer("he was running", ["he runs"], functions)
    assert (scores["rouge_l"], scores["rouge_l_stem"]) == (pytest.approx(0.4), pytest.approx(0.8))
    assert score_answer("no answer", [], functions) == dict.fromkeys(functions, 1.0)
    assert score_answer("+", ["+"], functions) == dict.fromkeys(functions, 1.0)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_right_where_there_is_no_answer(refusal: str) -> None:
    assert score_answer(f" {refusal.upper()}. ", []) == dict.fromkeys(FUNCTIONS, 1.0)
    assert score_answer(refusal, ["Ann"])["em"] == 0


@pytest.mark.parametrize("answer", ["Ann", "", "no", f"{REFUSALS[0]} but Ann"])
def test_anything_else_is_wrong_where_there_is_no_answer(answer: str) -> None:
    assert score_answer(answer, []) == dict.fromkeys(FUNCTIONS, 0.0)
