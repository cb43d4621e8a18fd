from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

import pytest

from grasp_cli.evaluation.asqa import disambiguated_f1, pairs_of, string_match
from grasp_cli.evaluation.entities import _entities, entity_f1
from grasp_cli.evaluation.scoring import Scoring
from grasp_cli.pipe.errors import DataError

RECORD = {
    "id": "1",
    "question": "Who won the cup?",
    "answers": ["Ann Lee won it in 1990, and Bob in 1991."],
    "qa_pairs": [
        {"question": "Who won the cup in 1990?", "short_answers": ["Ann Lee", "Lee"]},
        {"question": "Who won the cup in 1991?", "short_answers": ["Bob"]},
        {"question": "Who won the cup in 1992?", "short_answers": []},
    ],
}
PAIRS = pairs_of(RECORD)


class Words:
    """Reads the n-th word of the text for a question that ends in n."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        self.asked += pairs
        return [text.split()[0] if "1990" in question else "" for question, text in pairs]


def official_match(short_answers: list[str], answer: str) -> bool:
    """ASQA's exact_presence, with its normalisation."""

    def normal(text: str) -> str:
        text = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    return any(normal(short) in normal(answer) for short in short_answers)


ANSWERS = ["Ann Lee", "lee and BOB!", "Bobby", "the Ann-Lee", "", "Cy", "An Lees' bob"]


@pytest.mark.parametrize("answer", ANSWERS)
def test_string_match_is_asqas(answer: str) -> None:
    found = [official_match(list(pair.short_answers), answer) for pair in PAIRS]
    assert string_match(PAIRS, answer) == sum(found) / 2


def test_a_short_answer_without_tokens_is_nowhere() -> None:
    pairs = pairs_of({"qa_pairs": [{"question": "?", "short_answers": ["The"]}]})
    assert string_match(pairs, "the cup") == 0


def test_a_pair_without_short_answers_is_left_out() -> None:
    assert [pair.question[-5:] for pair in PAIRS] == ["1990?", "1991?"]
    assert pairs_of({"id": "1"}) == []


def test_disambiguated_f1_by_hand() -> None:
    reader = Words()
    # it reads "Ann" for 1990: against "Ann Lee" 2/3, against "Lee" 0; and nothing for 1991
    assert disambiguated_f1(PAIRS, "Ann won", reader) == pytest.approx((2 / 3 + 0) / 2)
    assert reader.asked == [(pair.question, "Ann won") for pair in PAIRS]


@pytest.mark.parametrize(
    "pairs", ["text", [1], [{"question": "?"}], [{"question": 1, "short_answers": ["x"]}]]
)
def test_another_shape_is_refused(pairs: Any) -> None:
    with pytest.raises(DataError, match='record "1": "qa_pairs" must be a list'):
        pairs_of({"id": "1", "qa_pairs": pairs})


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Ann Lee met Bob.", ["lee", "bob"]),
        ("Later she met Bob", ["bob"]),
        ("In 1990 he left. There, on 14 July 1990, Cy came.", ["1990", "14 july 1990", "cy"]),
        ("It is the U.S. Open", ["us"]),
        ("1990 was good. 1991 too", ["1990", "1991"]),
        ("nothing here", []),
        ("", []),
    ],
)
def test_entities(text: str, entities: list[str]) -> None:
    assert [" ".join(entity) for entity in _entities(text)] == entities


@pytest.mark.parametrize(
    ("answer", "f1"),
    [
        ("Ann Lee won it in 1990, and Bob in 1991.", 1),  # years stand in the questions
        ("The winner was Bob", 2 / 3),  # r = 1, n = 2
        ("Ann Lee, Bob, Cy Fox and Di", 4 / 6),  # x = 2
        ("They were Cy Fox and Di", 0),
        ("", 0),
        ("bobby", 0),  # tokens, not letters
        ("Dr Ann Lee of Leith and bob", 4 / 5),  # Dr Ann Lee holds a short answer
    ],
)
def test_entity_f1_by_hand(answer: str, f1: float) -> None:
    assert entity_f1("Who won the cup?", PAIRS, answer) == pytest.approx(f1)


def test_scores_of_a_record() -> None:
    scored = Scoring().score({**RECORD, "answer": "Ann Lee"})
    assert (scored.scores["str_em"], scored.scores["entity_f1"]) == (0.5, 0.6667)
    assert "disambig_f1" not in scored.scores
    reading = Scoring(reader=Words())
    assert reading.score({**RECORD, "answer": "Lee won"}).scores["disambig_f1"] == 0.5
    nothing = {"str_em": 0, "entity_f1": 0, "disambig_f1": 0}
    gold = {key: RECORD[key] for key in ("answers", "qa_pairs")}
    for unanswered in (reading.score(RECORD), reading.score_missing(gold)):
        assert nothing.items() <= unanswered.scores.items()
    assert "str_em" not in Scoring().score({"id": "1", "question": "?", "answer": "x"}).scores
