"""The Ollama reader against a server in this process."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from grasp_cli.pipe.errors import RecordError, ServerMissing, TooSlow, UsageError
from grasp_cli.readers.ollama import OllamaReader, models_on
from grasp_cli.readers.prompts import Prompt, chat_messages
from grasp_cli.readers.reader import ReaderSettings
from tests.readers.servers import Body, Said, ollama_reply, serving

PROMPT = Prompt("strict", "Ada Kerr was born in Leith.", "Where was Ada Kerr born?")
SETTINGS = ReaderSettings(model="tiny", connect_timeout=2, read_timeout=20)


def reader_at(url: str, **settings: Any) -> OllamaReader:
    return OllamaReader(replace(SETTINGS, url=url, **settings))


def failure(said: Said, **settings: Any) -> RecordError:
    with serving(lambda path, body: said) as server, pytest.raises(RecordError) as caught:
        reader_at(server.url, **settings).answer(PROMPT)
    return caught.value


def test_request_and_reply() -> None:
    with serving(lambda path, body: Said(ollama_reply(f" {path} "))) as server:
        reply = reader_at(server.url, max_new_tokens=9).answer(PROMPT)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("/api/chat", 150, 3)
    assert not reply.truncated
    [body] = server.asked
    assert body["model"] == "tiny"
    assert body["stream"] is False
    assert body["messages"] == chat_messages(PROMPT)
    assert body["options"] == {"temperature": 0, "seed": 0, "num_ctx": 2048, "num_predict": 9}


@pytest.mark.parametrize(
    ("context", "least"),
    [("word " * 400, 1024), ("word " * 20_000, 25_000), ("水库位于山谷之中。" * 800, 7_200)],
)
def test_num_ctx_holds_the_prompt_in_whole_steps(context: str, least: int) -> None:
    with serving(lambda path, body: Said(ollama_reply("x", prompt_eval_count=None))) as server:
        reader_at(server.url).answer(PROMPT.with_context(context))
    given = server.asked[0]["options"]["num_ctx"]
    assert given >= least
    assert given % 2048 == 0


def test_num_ctx_does_not_shrink_since_each_change_loads_the_model_anew() -> None:
    with serving(lambda path, body: Said(ollama_reply("x"))) as server:
        reader = reader_at(server.url)
        for size in (5, 20_000, 5):
            reader.answer(PROMPT.with_context("w" * size))
    sizes = [body["options"]["num_ctx"] for body in server.asked]
    assert sizes == [2048, 8192, 8192]


@pytest.mark.parametrize(
    ("counted", "size", "cut"),
    [
        (None, 40_000, False),
        (8_000, 40_000, False),  # five bytes a token: as text is
        (4_096, 40_000, True),  # a server that holds 4,096 at most
        (14_335, 40_000, True),  # all of num_ctx
    ],
)
def test_a_prompt_cut_by_the_server_is_told_from_its_count(
    counted: int | None, size: int, cut: bool
) -> None:
    said = Said(ollama_reply("x", prompt_eval_count=counted))
    with serving(lambda path, body: said) as server:
        reply = reader_at(server.url).answer(PROMPT.with_context("w" * size))
    assert server.asked[0]["options"]["num_ctx"] == 14_336
    assert reply.truncated is cut


def test_loading_of_the_model_is_not_counted() -> None:
    with serving(lambda path, body: Said(ollama_reply("x", load_duration=10**13))) as server:
        assert reader_at(server.url).answer(PROMPT).seconds == 0


def test_server_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ServerMissing, match="ollama serve") as caught:
        reader_at(url).answer(PROMPT)
    assert caught.value.exit_code == 3
    assert caught.value.retryable


def test_model_missing() -> None:
    error = failure(Said({"error": 'model "tiny" not found, try pulling it first'}, status=404))
    assert isinstance(error, ServerMissing)
    assert (error.kind, error.exit_code) == ("ModelMissing", 3)
    assert "ollama pull tiny" in str(error)


def test_too_slow() -> None:
    with (
        serving(lambda path, body: _after(server.released)) as server,
        pytest.raises(TooSlow, match=r"0\.2 s.*--read-timeout") as caught,
    ):
        reader_at(server.url, read_timeout=0.2).answer(PROMPT)
    assert caught.value.exit_code == 5


def _after(event: Any) -> Said:
    event.wait(20)
    return Said(ollama_reply("late"))


@pytest.mark.parametrize(
    ("said", "kind", "retryable", "shown"),
    [
        (Said({"error": "out of memory"}, status=500), "ServerError", True, "out of memory"),
        (Said(b"<html>busy</html>", status=503), "ServerError", True, "busy"),
        (Said(b"[1]", status=500), "ServerError", True, "[1]"),
        (Said({"error": "no such option"}, status=400), "RequestRefused", False, "no such option"),
        (Said(b"this is not JSON"), "BadReply", True, "not what"),
        (Said({"hello": "world"}), "BadReply", True, "not what"),
        (Said([1, 2]), "BadReply", True, "not what"),
        (Said({"message": {"role": "assistant"}}), "BadReply", True, "not what"),
        (Said(ollama_reply("x" * 9999), cut=True), "ConnectionCut", True, "cut"),
    ],
)
def test_failures(said: Said, kind: str, retryable: bool, shown: str) -> None:
    error = failure(said)
    assert (error.kind, error.retryable, error.exit_code) == (kind, retryable, 7)
    assert shown in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("url", ["bogus://x", "http://x:port", "http://[x"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="--url"):
        reader_at(url).answer(PROMPT)


def test_models_of_a_server() -> None:
    listed: Body = {"models": [{"model": "llama3.1:8b", "name": "llama3.1:8b", "size": 1}]}
    with serving(lambda path, body: Said(listed)) as server:
        assert models_on(server.url) == {"llama3.1:8b"}
    assert models_on(server.url) is None
