from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.defaults import ANSWER
from grasp_cli.formats import Sources, load_joined_format
from grasp_cli.formats.openai_batch import BatchRequests
from grasp_cli.pipe.errors import DataError
from grasp_cli.readers.prompts import Prompt, chat_messages

RECORDS: list[dict[str, Any]] = [
    {"id": "q1", "question": "Nets?", "context": "A\nNets are old.", "kept": [1]},
    {"id": "q2", "question": "Mills?", "contexts": [{"id": "m", "title": "M", "text": "Grind."}]},
    {"id": "q3", "question": "Dams?", "error": {"stage": "retrieve", "message": "gone"}},
    {"id": "q4", "question": "Fish?"},
]


def reply(identity: str, text: str | None, **more: Any) -> dict[str, Any]:
    body = {
        "model": "m-2024",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43},
    }
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": identity, "response": response, "error": None, **more}


def refused(identity: str, status: int, message: str) -> dict[str, Any]:
    body = {"error": {"message": message, "code": None}}
    return reply(identity, "", response={"status_code": status, "body": body})


def test_requests_carry_the_prompt_of_the_reader() -> None:
    writer = BatchRequests("gpt-x", "strict")
    first, second, fourth = map(json.loads, writer.lines(RECORDS))
    assert first == {
        "custom_id": "q1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "gpt-x",
            "messages": chat_messages(Prompt("strict", "A\nNets are old.", "Nets?")),
            "max_tokens": ANSWER.max_new_tokens,
            "temperature": 0,
            "seed": 0,
        },
    }
    assert second["body"]["messages"] == chat_messages(Prompt("strict", "M\nGrind.", "Mills?"))
    assert fourth["body"]["messages"] == chat_messages(Prompt("strict", "", "Fish?"))
    assert list((+writer.notes).items()) == [("records have an error: left out", 1)]
    (natural,) = map(json.loads, BatchRequests("gpt-x", "natural").lines(RECORDS[:1]))
    assert natural["body"]["max_tokens"] == ANSWER.natural_max_new_tokens
    (short,) = map(json.loads, BatchRequests("gpt-x", "natural", 5).lines(RECORDS[:1]))
    assert short["body"]["max_tokens"] == 5
    assert short["body"]["messages"] == natural["body"]["messages"] != first["body"]["messages"]


def test_too_many_requests_for_one_file_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grasp_cli.formats.openai_batch.MOST_REQUESTS", 2)
    for count, said in ((2, False), (3, True)):
        writer = BatchRequests("gpt-x", "strict")
        assert len(list(writer.lines([RECORDS[0]] * count))) == count
        assert list((+writer.notes).values()) == [count] * said
    size = sum(len(line) + 1 for line in BatchRequests("gpt-x", "strict").lines(RECORDS[:2]))
    for most, said in ((size, False), (size - 1, True)):
        monkeypatch.setattr("grasp_cli.formats.openai_batch.MOST_BYTES", most)
        writer = BatchRequests("gpt-x", "strict")
        list(writer.lines(RECORDS[:2]))
        assert list((+writer.notes).values()) == [2] * said


def answers(folder: Path, *outputs: Any) -> tuple[list[dict[str, Any]], Any]:
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    path = folder / "output.jsonl"
    path.write_text("\n".join(map(json.dumps, outputs)) + "\n")
    form = load_joined_format("openai-batch", Sources(questions=folder / "records.jsonl"))
    return list(form.records([path])), form


def test_answers_are_joined_in_the_order_of_the_records(tmp_path: Path) -> None:
    records, form = answers(
        tmp_path,
        reply("q4", " Trout. "),
        reply("q2", None),
        reply("q1", "Old"),
        reply("q3", "late"),
        reply("other", "x"),
    )
    told = {"name": "openai", "model": "m-2024", "prompt_tokens": 40, "completion_tokens": 3}
    assert records[0] == {**RECORDS[0], "answer": "Old", "reader": told}
    assert list(records[0]) == [*RECORDS[0], "answer", "reader"]
    assert records[1]["error"]["type"] == "RequestFailed"
    assert records[2] == RECORDS[2]
    assert records[3]["answer"] == "Trout."
    assert form.failed == 1
    assert list((+form.notes).items()) == [("answers belong to none of the records: left out", 1)]


@pytest.mark.parametrize(
    ("output", "message", "retryable"),
    [
        (refused("q1", 400, "too long"), "failed (HTTP 400): too long", False),
        (refused("q1", 429, "slow down"), "failed (HTTP 429): slow down", True),
        (refused("q1", 500, "oops"), "failed (HTTP 500): oops", True),
        (
            reply("q1", "", response=None, error={"code": "batch_expired", "message": "too late"}),
            "failed: too late",
            True,
        ),
        (reply("q1", "", response=None, error={"code": "bad"}), "failed: bad", False),
        (reply("q1", "", response={"status_code": 200, "body": {}}), "not what OpenAI", False),
        (reply("other", "x"), "the batch has no line for this record", True),
    ],
)
def test_what_failed_stays_with_its_error(
    tmp_path: Path, output: dict[str, Any], message: str, retryable: bool
) -> None:
    records, form = answers(tmp_path, output, reply("q2", "a"), reply("q4", "b"))
    error = records[0]["error"]
    assert (error["stage"], error["retryable"]) == ("answer", retryable)
    assert message in error["message"]
    assert {**RECORDS[0], "error": error} == records[0]
    assert form.failed == 1


def test_a_second_try_counts_whatever_the_order(tmp_path: Path) -> None:
    lost = refused("q1", 500, "oops")
    for outputs in ((lost, reply("q1", "Old")), (reply("q1", "Old"), lost)):
        records, _ = answers(tmp_path, *outputs)
        assert records[0]["answer"] == "Old"
    records, _ = answers(tmp_path, lost, refused("q1", 400, "never"))
    assert "never" in records[0]["error"]["message"]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([reply("q1", "a"), reply("q1", "b")], 'output.jsonl:2: the custom_id "q1" is answered'),
        ([{"custom_id": "q1", "body": {}}], "output.jsonl:1: expected .*; this is a request"),
        ([{"id": "x"}], "expected a line of a batch's output"),
        ([[]], "expected a line of a batch's output"),
    ],
)
def test_what_is_no_output(tmp_path: Path, outputs: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        answers(tmp_path, *outputs)
