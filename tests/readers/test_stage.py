"""What answering does to a record."""

from __future__ import annotations

from typing import Any

import pytest

from grasp_cli.compression.blocks import join_contexts
from grasp_cli.pipe.errors import RecordError, TooSlow
from grasp_cli.pipe.records import Record
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import READERS, ReaderSettings, Reply, make_reader
from grasp_cli.readers.stage import Answering

CONTEXTS = [
    {"id": "a", "title": "Ada", "text": "Ada was born in Leith.", "rank": 1},
    {"id": "b", "title": "Bo", "text": "Bo was born in Oslo.", "rank": 2},
]


class Counting:
    """A reader that answers with the number of characters of its context."""

    name = "counting"
    model = "none"

    def __init__(self, cut_over: int = 10**9) -> None:
        self.asked: list[Prompt] = []
        self._cut_over = cut_over

    def request(self, prompt: Prompt) -> dict[str, Any]:
        return {"context": prompt.context}

    def answer(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        size = len(prompt.context)
        if prompt.question == "slow?":
            raise TooSlow("too slow")
        return Reply(str(size), size, 1, size / 1000, truncated=size > self._cut_over)


def answering(reader: Counting, *, compare: bool = False) -> tuple[Answering, list[str]]:
    said: list[str] = []
    return Answering(reader, "strict", compare, said.append), said


def answered(record: Record, *, compare: bool = False) -> Record:
    outcome = answering(Counting(), compare=compare)[0](record)
    assert isinstance(outcome, dict)
    return outcome


def test_compressed_context_comes_first() -> None:
    record = {"id": "1", "question": "q", "context": "short", "contexts": CONTEXTS, "mine": 1}
    found = answered(record)
    assert found == {
        **record,
        "answer": "5",
        "reader": {
            "name": "counting",
            "model": "none",
            "prompt_tokens": 5,
            "completion_tokens": 1,
            "seconds": 0.005,
        },
    }
    assert list(found) == [*record, "answer", "reader"]


def test_without_context_all_contexts_are_joined() -> None:
    found = answered({"id": "1", "question": "q", "contexts": CONTEXTS})
    assert found["answer"] == str(len("Ada\nAda was born in Leith.\n\nBo\nBo was born in Oslo."))


@pytest.mark.parametrize(
    "record",
    [{"context": ""}, {"contexts": []}, {}, {"context": "", "contexts": CONTEXTS}],
)
def test_an_empty_context_is_asked_all_the_same(record: Record) -> None:
    assert answered({"id": "1", "question": "q", **record})["answer"] == "0"


def test_compare() -> None:
    record = {"id": "1", "question": "q", "context": "short", "contexts": CONTEXTS}
    found = answered(record, compare=True)
    full = len(join_contexts(CONTEXTS))
    assert found["answer_full"] == str(full)
    assert found["reader_full"]["prompt_tokens"] == full
    assert found["saved"] == {"tokens": full - 5, "seconds": round((full - 5) / 1000, 4)}


def test_compare_asks_once_where_nothing_was_cut() -> None:
    reader = Counting()
    record = {"id": "1", "question": "q", "contexts": CONTEXTS}
    outcome = answering(reader, compare=True)[0](record)
    assert isinstance(outcome, dict)
    assert len(reader.asked) == 1
    assert outcome["saved"] == {"tokens": 0, "seconds": 0}


def test_compare_without_contexts_is_a_failure_of_the_record() -> None:
    outcome = answering(Counting(), compare=True)[0]({"id": "1", "question": "q", "context": "x"})
    assert isinstance(outcome, RecordError)
    assert "contexts" in str(outcome)


def test_a_failure_is_returned() -> None:
    outcome = answering(Counting())[0]({"id": "1", "question": "slow?"})
    assert isinstance(outcome, TooSlow)


def test_a_cut_context_is_recorded_each_time_and_said_once() -> None:
    ask, said = answering(Counting(cut_over=3))
    outcomes = [
        ask({"id": number, "question": "q", "context": "x" * size})
        for number, size in (("1", 2), ("2", 9), ("3", 8))
    ]
    cut = ["truncated" in outcome["reader"] for outcome in outcomes if isinstance(outcome, dict)]
    assert cut == [False, True, True]
    assert len(said) == 1
    assert '"2"' in said[0]


@pytest.mark.parametrize("name", READERS)
def test_readers_by_name(name: str) -> None:
    reader = make_reader(name, ReaderSettings(model="some"))
    assert (reader.name, reader.model) == (name, "some")
