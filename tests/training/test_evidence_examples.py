"""Records as training examples: which sentences are gold, which are not, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from grasp_cli.pipe.errors import DataError
from grasp_cli.training.evidence_examples import (
    GOLD,
    Example,
    Negatives,
    example,
    is_judged,
    shortened,
)

TEXT = "The dam was built in 1911. It burst in 1924. The lake is gone."
SECOND = TEXT.index("It burst")
THIRD = TEXT.index("The lake")


def context(name: str, text: str = TEXT, **keys: Any) -> dict[str, Any]:
    return {"id": name, "text": text, **keys}


def made(gold: Any, *contexts: dict[str, Any], answers: Any = ("1924",)) -> Example:
    row = {"id": "q7", "question": "When?", "contexts": list(contexts or [context("a")])}
    return example({**row, "answers": list(answers), "evidence_gold": gold}, "f.jsonl", "rule")


def labels(one: Example) -> list[list[int]]:
    return [own.tolist() for own in one.labels]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 5, [1, 0, 0]),
        (SECOND, SECOND + 1, [0, 1, 0]),
        (SECOND - 2, SECOND + 1, [1, 1, 0]),
        (SECOND - 1, SECOND + 1, [0, 1, 0]),  # from the space between
        (0, len(TEXT), [1, 1, 1]),
    ],
)
def test_sentences_that_a_gold_span_touches_are_gold(
    start: int, end: int, expected: list[int]
) -> None:
    one = made([{"id": "a", "start": start, "end": end}], context("a"), context("b"))
    assert labels(one) == [expected, [0, 0, 0]] and one.some == []
    assert (one.key, one.question, one.answers) == (("f.jsonl", "q7"), "When?", ["1924"])


def test_of_a_whole_document_the_sentences_with_an_answer_are_gold() -> None:
    one = made([{"id": "b"}], context("a"), context("b"))
    assert labels(one) == [[0, 0, 0], [0, 1, 0]] and one.some == []
    several = made([{"id": "a", "start": None}], answers=["in 1911", "LAKE"])
    assert labels(several) == [[1, 0, 1]]


def test_an_answer_counts_as_whole_words() -> None:
    one = made([{"id": "a"}], context("a", "It rained. It was 21924 of them."))
    assert labels(one) == [[-1, -1]]


@pytest.mark.parametrize("answers", [[], ["1999"], [""], ["..."]])
def test_of_a_whole_document_without_the_answer_some_sentence_is_gold(answers: list[str]) -> None:
    one = made([{"id": "a"}], context("a"), context("b"), answers=answers)
    assert labels(one) == [[-1, -1, -1], [0, 0, 0]] and one.some == [(0, [0, 1, 2])]
    assert not is_judged(one), "no sentence is known as gold"


def test_known_gold_stays_known_beside_a_whole_document() -> None:
    span = {"id": "a", "start": 0, "end": 5}
    one = made([span, {"id": "a"}], answers=[])
    assert labels(one) == [[1, -1, -1]] and one.some == [(0, [0, 1, 2])]


def test_offsets_are_into_the_document_of_a_passage() -> None:
    parts = [
        context("p0", TEXT[:SECOND], doc_id="d", start=0),
        context("p1", TEXT[SECOND:], doc_id="d", start=SECOND),
        context("e", "Another. Document.", doc_id="e", start=0),
    ]
    one = made([{"id": "d", "start": THIRD, "end": len(TEXT), "text": TEXT[THIRD:]}], *parts)
    assert labels(one) == [[0], [0, 1], [0, 0]]
    across = made([{"id": "d", "start": 5, "end": SECOND + 5}], *parts)
    assert labels(across) == [[1], [1, 0], [0, 0]]
    own = made([{"id": "p1", "start": 0, "end": 5}], *parts)
    assert labels(own) == [[0], [1, 0], [0, 0]], "offsets into a passage by its own id"


def test_gold_that_was_not_retrieved_is_left_out_where_other_gold_was() -> None:
    one = made([{"id": "gone", "start": 0, "end": 5}, {"id": "a", "start": 0, "end": 5}])
    assert labels(one) == [[1, 0, 0]]


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        (None, 'no "evidence_gold"'),
        ([], 'no "evidence_gold"'),
        ([{"id": "gone"}, {"id": "far"}], r"\(far, gone\) is in none of its contexts"),
        ([{"id": "a", "start": 0, "end": 99}], rf"99\) ends behind the text of .a. \({len(TEXT)}"),
        ([{"id": "a", "start": SECOND - 1, "end": SECOND}], "is in none of its contexts"),
        ([{"id": "a", "start": 0, "end": 7, "text": "The sea"}], "'The dam', and its \"text\" is"),
        ([{"id": "a", "start": 5, "end": 5}], "with start < end"),
        ([{"id": "a", "start": 5}], "with start < end"),
        ([{"id": "a", "start": -1, "end": 3}], "with start < end"),
        ([{"id": "a", "start": "0", "end": "3"}], "with start < end"),
        ([{"start": 0, "end": 3}], "must be a list"),
        (["a"], "must be a list"),
    ],
)  # fmt: skip
def test_bad_gold_is_an_error_that_names_the_record(gold: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        made(gold)
    assert str(error.value).startswith('f.jsonl: record "q7"')


def test_gold_in_a_passage_without_a_sentence_is_an_error() -> None:
    with pytest.raises(DataError, match="in none of its contexts"):
        made([{"id": "a"}], context("a", " "))


def test_judged_is_what_has_known_gold_and_known_others() -> None:
    assert is_judged(made([{"id": "a"}]))
    assert not is_judged(made([{"id": "a", "start": 0, "end": len(TEXT)}]))


def test_a_shortened_record_has_gold_and_its_passages_as_they_were() -> None:
    whole = made(
        [{"id": "b"}, {"id": "d"}],
        context("a", "Nothing here."),
        context("b"),
        context("c", "Not this one. Nor this."),
        context("d", "Some sentence of these. It is not known which."),
    )
    chosen = set()
    for seed in range(40):
        short = shortened(whole, 2, random.Random(seed))
        assert short is not None and len(short.passages) == len(short.labels) == 2
        assert [passage.number for passage in short.passages] == [0, 1]
        assert any((own == GOLD).any() for own in short.labels)
        old = [[p.text for p in whole.passages].index(p.text) for p in short.passages]
        assert old == sorted(old)
        assert labels(short) == [labels(whole)[place] for place in old]
        assert [place for place, _ in short.some] == [
            n for n, place in enumerate(old) if place == 3
        ]
        chosen.add(tuple(old))
    assert chosen == {(0, 1), (1, 2), (1, 3)}, "each with the gold that is known"
    assert shortened(whole, 4, random.Random(0)) is None


def pool(*texts: str, answers: Any = ("1924",)) -> list[Example]:
    """One record per text, each about a dam."""
    found = []
    for number, text in enumerate(texts):
        one = made([{"id": "a", "start": 0, "end": 1}], context("a", text), answers=answers)
        one.id, one.question = f"q{number}", "Which dam burst?"
        found.append(one)
    return found


DAMS = ["The dam burst.", "A dam. It burst in 1924.", "Dam number three burst.", "Salt is white."]


def test_negatives_are_found_by_the_question_and_hold_no_answer() -> None:
    examples = pool(*DAMS)
    more = Negatives(examples, 10).add(examples[0], 5, random.Random(0))
    assert [p.text for p in more.passages] == ["The dam burst.", "Dam number three burst."]
    assert [p.number for p in more.passages] == [0, 1]
    assert labels(more) == [[1], [0]] and more.key == examples[0].key
    assert len(examples[0].passages) == 1, "the example itself is as it was"


def test_negatives_are_never_passages_of_the_record_itself() -> None:
    examples = pool(*DAMS[:3], answers=())
    examples[0].passages = [p for one in examples[:2] for p in one.passages]
    examples[0].labels = [np.zeros(1, np.int8), np.zeros(2, np.int8)]
    more = Negatives(examples, 10).add(examples[0], 5, random.Random(0))
    assert [p.text for p in more.passages[2:]] == [DAMS[2]]


def test_the_best_negatives_are_drawn_from_and_the_seed_decides() -> None:
    near = [f"The dam burst {word}." for word in ("once", "twice", "again", "early", "late")]
    examples = pool("Nothing here.", *near, "A dam.", answers=())
    negatives = Negatives(examples, 5)
    drawn = [
        tuple(p.text for p in negatives.add(examples[0], 2, random.Random(seed)).passages[1:])
        for seed in [*range(20), 0]
    ]
    assert {text for texts in drawn for text in texts} == set(near)
    assert all(len(set(texts)) == 2 for texts in drawn) and drawn[0] == drawn[-1]


def test_negatives_come_from_the_pool_alone() -> None:
    """What is held back for validation is not trained on, not even as a negative."""
    examples = pool(*DAMS[:3], answers=())
    drawn = Negatives(examples, 10, examples[1:2]).add(examples[0], 5, random.Random(0))
    assert [p.text for p in drawn.passages[1:]] == [DAMS[1]]
