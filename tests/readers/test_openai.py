"""The OpenAI reader against a server in this process."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from grasp_cli.pipe.errors import RecordError, ServerMissing, TooSlow, UsageError
from grasp_cli.readers.openai import OpenAIReader
from grasp_cli.readers.prompts import Prompt, chat_messages
from grasp_cli.readers.reader import ReaderSettings
from tests.readers.servers import Said, openai_reply, serving

PROMPT = Prompt("natural", "Ada Kerr was born in Leith.", "Where was Ada Kerr born?")
SETTINGS = ReaderSettings(model="tiny", connect_timeout=2, read_timeout=20)


def reader_at(url: str, **settings: Any) -> OpenAIReader:
    return OpenAIReader(replace(SETTINGS, url=url, **settings))


def failure(said: Said, **settings: Any) -> RecordError:
    with serving(lambda path, body: said) as server, pytest.raises(RecordError) as caught:
        reader_at(server.url, **settings).answer(PROMPT)
    return caught.value


@pytest.mark.parametrize("slash", ["", "/"])
def test_request_and_reply(monkeypatch: pytest.MonkeyPatch, slash: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(lambda path, body: Said(openai_reply(f" {path}\n"))) as server:
        reply = reader_at(f"{server.url}/v1{slash}", max_new_tokens=9).answer(PROMPT)
    assert reply.text == "/v1/chat/completions"
    assert (reply.prompt_tokens, reply.completion_tokens) == (90, 3)
    assert server.asked == [
        {
            "model": "tiny",
            "messages": chat_messages(PROMPT),
            "max_tokens": 9,
            "temperature": 0,
            "seed": 0,
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"


def test_no_key_sends_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(lambda path, body: Said(openai_reply("x", usage=None))) as server:
        reply = reader_at(server.url).answer(PROMPT)
    assert "Authorization" not in server.headers[0]
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)


def test_server_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ServerMissing, match="no server answers") as caught:
        reader_at(url).answer(PROMPT)
    assert caught.value.exit_code == 3


def test_too_slow() -> None:
    with (
        serving(lambda path, body: _after(server.released)) as server,
        pytest.raises(TooSlow, match="--read-timeout"),
    ):
        reader_at(server.url, read_timeout=0.2).answer(PROMPT)


def _after(event: Any) -> Said:
    event.wait(20)
    return Said(openai_reply("late"))


@pytest.mark.parametrize(
    ("said", "kind", "code", "retryable"),
    [
        (Said({"error": {"message": "no"}}, status=404), "ModelMissing", 3, True),
        (Said({"error": {"message": "no"}}, status=401), "KeyRefused", 3, True),
        (Said({"error": {"message": "no"}}, status=429), "ServerError", 7, True),
        (Said(b"", status=500), "ServerError", 7, True),
        (Said({"error": {"message": "too long"}}, status=400), "RequestRefused", 7, False),
        (Said(b"{not JSON"), "BadReply", 7, True),
        (Said([]), "BadReply", 7, True),
        (Said({"choices": []}), "BadReply", 7, True),
        (Said(openai_reply(None)), "BadReply", 7, True),
        (Said(openai_reply("x" * 9999), cut=True), "ConnectionCut", 7, True),
    ],
)
def test_failures(
    monkeypatch: pytest.MonkeyPatch, said: Said, kind: str, code: int, retryable: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    error = failure(said)
    assert (error.kind, error.exit_code, error.retryable) == (kind, code, retryable)
    assert "sk-secret" not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("url", ["bogus://x", "no-scheme:1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="--url"):
        reader_at(url).answer(PROMPT)


def test_a_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        reader_at("http://127.0.0.1:9").answer(PROMPT)
