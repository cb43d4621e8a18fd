"""Rescue on a second hop, with a classifier that counts shared words: every score is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.exit import Exit
from grasp_cli.compression.hops import TERMS, extended, names
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.defaults import COMPRESS, CompressDefaults
from grasp_cli.pipe.errors import RecordError

RECORD = {
    "id": "r",
    "question": "Where was the builder of the bridge born?",
    "contexts": [
        {"id": "a", "title": "Sorrel", "text": "The bridge had a builder: Maud Kestrin. So long."},
        {"id": "b", "title": "Kestrin", "text": "So Maud Kestrin left Dunmarrow. Rain fell."},
        {"id": "c", "title": "Dunmarrow", "text": "Once Dunmarrow had a salt exchange. Snow fell."},
    ],
}  # fmt: skip


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - {"the", "a", "was", "of", "where"}


class Overlap:
    """Scores a unit by how many words it shares with the question, and counts what it was asked."""

    name = "overlap"
    room = 99  # words of a question

    def __init__(self) -> None:
        self.cut_tokens: list[int] = []
        self.asked: list[tuple[str, int]] = []

    def load(self) -> None: ...

    def refusal(self, task: Task) -> RecordError | None:
        return RecordError("too long") if len(task.question.split()) > self.room else None

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[np.ndarray]:
        self.asked += [(t.question, len(own)) for t, own in zip(tasks, units, strict=True)]
        return [
            np.asarray([
                min(1.0, len(words(t.question) & words(u.text(t.passages[u.passage]))) / 4)
                for u in own
            ])
            for t, own in zip(tasks, units, strict=True)
        ]  # fmt: skip


def select(record: dict[str, Any], hops: int, **options: Any) -> tuple[Any, Overlap]:
    classifier = Overlap()
    setting: CompressDefaults = replace(COMPRESS, hops=hops, fine_threshold=0.5, **options)
    (selection,) = Exit(classifier, setting, 0.001).select([Task.of(record, "rule")])
    return selection, classifier


def test_the_second_hop_finds_the_sentence_behind_the_bridge() -> None:
    one, asked_once = select(RECORD, 1)
    assert one.kept == [0] and list(one.rescued) == []
    assert len(asked_once.asked) == 1
    two, asked = select(RECORD, 2)
    assert two.kept == [0, 2] and list(two.rescued) == [2]
    assert asked.asked[1] == (RECORD["question"] + " Sorrel, Maud Kestrin", 5)


def test_a_third_hop_goes_on_from_there() -> None:
    three, classifier = select(RECORD, 3)
    assert [count for _, count in classifier.asked] == [6, 5, 4]
    assert "Dunmarrow" in classifier.asked[2][0]
    assert set(three.kept) >= {0, 2}


def test_rescued_units_carry_the_score_that_they_passed_with() -> None:
    two, _ = select(RECORD, 2)
    assert two.units[2].score == 0.5 == two.units[2].runs[0].score
    before, _ = select(RECORD, 1)
    others = [unit for unit in range(6) if unit != 2]
    assert [two.units[n] for n in others] == [before.units[n] for n in others]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Nothing to do with it?", "nothing was kept, so there is nothing to go on from"),
        ("bridge builder Maud Kestrin Sorrel", "nothing was found that was not asked"),
    ],
)
def test_no_second_pass_where(question: str, why: str) -> None:
    _, classifier = select({**RECORD, "question": question, "contexts": RECORD["contexts"][:1]}, 2)
    assert len(classifier.asked) == 1, why


def test_a_question_that_would_be_too_long_is_not_extended() -> None:
    classifier = Overlap()
    classifier.room = len(RECORD["question"].split())
    method = Exit(classifier, replace(COMPRESS, hops=2), 0.001)
    (selection,) = method.select([Task.of(RECORD, "rule")])
    assert selection.kept == [0] and len(classifier.asked) == 1


def test_questions_are_independent_of_each_other() -> None:
    tasks = [
        Task.of({**RECORD, "question": q}, "rule")
        for q in (RECORD["question"], "No?", "bridge builder had")
    ]
    method = Exit(Overlap(), replace(COMPRESS, hops=2), 0.001)
    together = list(method.select(tasks))
    assert together == [next(iter(method.select([task]))) for task in tasks]


def test_names_are_runs_of_capitalised_words_and_numbers() -> None:
    text = "The Sorrel Bridge opened in 1931, and Maud Kestrin of O'Brien's saw it. Rain fell."
    assert names(text) == ["The Sorrel Bridge", "1931", "Maud Kestrin", "O'Brien's", "Rain"]
    assert names("Rain fell on it.") == []
    assert names("水库位于山谷之中。") == []


def test_the_question_stays_short() -> None:
    many = " ".join(f"then Name{number} came" for number in range(40))
    record = {**RECORD, "question": "then came", "contexts": [{"id": "a", "text": f"{many}."}]}
    selection, _ = select(record, 1)
    question = extended(Task.of(record, "rule"), selection)
    assert question.count(",") == TERMS - 1


def test_the_record_tells_how_many_were_rescued() -> None:
    from grasp_cli.compression.stage import Compress, Setting
    from grasp_cli.pipe.engine import Tally, run_stage
    from tests.compression.fakes import Words

    outs = {}
    for hops in (1, 2):
        options = replace(COMPRESS, hops=hops, explain=True)
        stage = Compress(
            Exit(Overlap(), options, 0.001),
            None,
            Words(),  # type: ignore[arg-type]
            options,
            Setting("embedded", "float32", "rule"),
        )
        (batch,) = run_stage(stage, [RECORD], Tally())
        (outs[hops],) = batch
    assert "rescued" not in outs[1]["compression"] and outs[2]["compression"]["rescued"] == 1
    states = [s["why"] for entry in outs[2]["explain"] for s in entry["sentences"]]
    assert states == ["kept", "threshold", "rescued", "threshold", "threshold", "threshold"]
    assert "Maud Kestrin left Dunmarrow." in outs[2]["context"]
