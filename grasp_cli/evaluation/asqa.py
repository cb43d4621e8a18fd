"""Metrics of long answers to ambiguous questions (ASQA, Stelmakh et al. 2022).

A record's `qa_pairs` are what its question can mean: `{question, short_answers: [str, …]}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record
from grasp_cli.text.answers import normalise


class Pair(NamedTuple):
    """One meaning of an ambiguous question, and its short answers (at least one)."""

    question: str
    short_answers: tuple[str, ...]


class SpanReader(Protocol):
    """A model that answers a question with a span of a text."""

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """The answers to (question, text) pairs, "" where the text has none."""
        ...


def pairs_of(record: Record) -> list[Pair]:
    """The record's `qa_pairs`; `DataError` where they have another shape."""
    try:
        return [
            Pair(_text(pair["question"]), tuple(map(_text, pair["short_answers"])))
            for pair in record.get("qa_pairs") or []
            if pair["short_answers"]
        ]
    except (KeyError, TypeError):
        raise DataError(
            f'record "{record["id"]}": "qa_pairs" must be a list of {{question, short_answers: '
            "[…]}, as grasp convert asqa writes it"
        ) from None


def string_match(pairs: Sequence[Pair], answer: str) -> float:
    """STR-EM: the share of pairs of which a short answer is part of the answer.

    As ASQA's evaluation has it: normalised strings, so that a part may end inside a word. A short
    answer that normalises to nothing is no part of anything.
    """
    whole = normalise(answer)
    found = [any(part and part in whole for part in map(normalise, pair[1])) for pair in pairs]
    return sum(found) / len(found)


def disambiguated_f1(pairs: Sequence[Pair], answer: str, reader: SpanReader) -> float:
    """Disambig-F1: what the reader takes from the answer for each pair's question.

    The mean over the pairs of the token F1 (SQuAD's) against the best of the short answers.
    """
    read = reader.answers([(pair.question, answer) for pair in pairs])
    best = [
        max(_squad_f1(gold, found) for gold in pair.short_answers)
        for pair, found in zip(pairs, read, strict=True)
    ]
    return sum(best) / len(best)


def _squad_f1(gold: str, answer: str) -> float:
    """SQuAD 2.0's F1: two texts without tokens are equal, one of them is wrong."""
    wanted, given = normalise(gold).split(), normalise(answer).split()
    if not wanted or not given:
        return float(wanted == given)
    shared = (Counter(wanted) & Counter(given)).total()
    return 2 * shared / (len(wanted) + len(given))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(value)
