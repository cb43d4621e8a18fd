"""Gold sentence boundaries of the Universal Dependencies files, and the F1 of found ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from grasp_cli.text import Span
from tests.conftest import shared

FILES = {
    "en": "ud_sentences/en_ewt_test_sentences.jsonl",
    "de": "ud_sentences/de_gsd_test_sentences.jsonl",
    "ja": "ud_sentences/ja_gsd_test_sentences.jsonl",
    "zh": "ud_sentences/zh_gsdsimp_test_sentences.jsonl",
}
# Only the English file says where a document begins; the others are joined by tens.
TOGETHER = 10


class Running(NamedTuple):
    """Running text and the ends of its sentences, the last one left out.

    `given` holds the ends that a blank line gives away.
    """

    text: str
    ends: set[int]
    given: set[int]


def running_texts(language: str) -> Iterator[Running]:
    """The sentences of one file joined as its flags say."""
    path = shared("data/" + FILES[language])
    group: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        starts = row["newdoc"] if language == "en" else len(group) == TOGETHER
        if starts and group:
            yield _joined(group)
            group = []
        group.append(row)
    yield _joined(group)


def _joined(rows: list[dict[str, Any]]) -> Running:
    text, ends, given = rows[0]["text"], set(), set()
    for before, row in pairwise(rows):
        ends.add(len(text))
        if row["newpar"]:
            given.add(len(text))
            text += "\n\n"
        elif before["space_after"]:
            text += " "
        text += row["text"]
    return Running(text, ends, given)


def boundary_f1(split: Callable[[str], list[Span]], language: str) -> float:
    """F1 in percent of the boundaries inside paragraphs."""
    right = wrong = missed = 0
    for running in running_texts(language):
        gold = running.ends - running.given
        found = {end for _, end in split(running.text)[:-1]} - running.given
        right += len(gold & found)
        wrong += len(found - gold)
        missed += len(gold - found)
    return 100 * 2 * right / (2 * right + wrong + missed)
