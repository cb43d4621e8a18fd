"""A model on an Ollama server, through the ollama client library."""

from __future__ import annotations

import math
import threading
import time
from functools import cached_property
from typing import Any

from grasp_cli import defaults
from grasp_cli.pipe.errors import UsageError
from grasp_cli.readers.prompts import Prompt, chat_messages
from grasp_cli.readers.reader import ReaderSettings, Reply, address
from grasp_cli.readers.server import Server, explained, garbage

_CONTEXT_STEP = 2048  # a model is loaded anew for every other num_ctx, so it takes few values
_BYTES_PER_TOKEN = 3  # fewer than any language averages, so the estimate is on the safe side
_MOST_BYTES_PER_TOKEN = 6  # more than text averages: fewer tokens than that were not the prompt
_TEMPLATE_TOKENS = 64  # what a chat template adds at most


class OllamaReader:
    """Greedy answers from an Ollama server, several at once.

    Ollama cuts a prompt that is longer than `num_ctx` without a word, and its default is small;
    so `num_ctx` is set from the prompt's length and the reply is checked for a cut.
    """

    name = "ollama"

    def __init__(self, settings: ReaderSettings) -> None:
        self.model = settings.model
        self._settings = settings
        self._server = Server(
            str(address(self.name, settings.url)),
            "start it with `ollama serve`",
            f"ollama pull {settings.model}",
            settings,
        )
        self._context = 0  # the largest num_ctx so far; it only grows
        self._lock = threading.Lock()

    @cached_property
    def _client(self) -> Any:
        from ollama import Client

        try:
            return Client(host=self._server.url, **self._server.client_options())
        except ValueError:
            raise UsageError(
                f"--url {self._server.shown}: not the address of a server; it looks like "
                f"{defaults.ANSWER.ollama_url}"
            ) from None

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """What is asked for; `num_ctx`, which only has to be large enough, is no part of it."""
        return {
            "model": self.model,
            "messages": chat_messages(prompt),
            "options": self._options,
        }

    @property
    def _options(self) -> dict[str, int]:
        return {"temperature": 0, "seed": 0, "num_predict": self._settings.max_new_tokens}

    def answer(self, prompt: Prompt) -> Reply:
        """Answer, or raise the `RecordError` that says what the server lacks."""
        messages = chat_messages(prompt)
        size = sum(len(message["content"].encode()) for message in messages)
        context = self._context_for(size)
        started = time.perf_counter()
        reply = self._chat(messages, context)
        seconds = time.perf_counter() - started - (reply.load_duration or 0) / 1e9
        return Reply(
            text=reply.message.content.strip(),
            prompt_tokens=reply.prompt_eval_count,
            completion_tokens=reply.eval_count,
            seconds=max(seconds, 0.0),
            truncated=_was_cut(reply.prompt_eval_count, size, context),
        )

    def _context_for(self, size: int) -> int:
        needed = math.ceil(size / _BYTES_PER_TOKEN) + _TEMPLATE_TOKENS
        needed += self._settings.max_new_tokens
        with self._lock:
            self._context = max(self._context, math.ceil(needed / _CONTEXT_STEP) * _CONTEXT_STEP)
            return self._context

    def _chat(self, messages: list[dict[str, str]], context: int) -> Any:
        options = {**self._options, "num_ctx": context}
        with explained(self._server):
            try:
                reply = self._client.chat(model=self.model, messages=messages, options=options)
            except (ValueError, TypeError, AttributeError):
                # What the client library raises for a body that is no JSON, or other JSON.
                raise garbage(self._server) from None
        if not isinstance(reply.message.content, str):
            raise garbage(self._server)
        return reply


def _was_cut(counted: int | None, size: int, context: int) -> bool:
    """Whether the server read less than a prompt of `size` bytes, as its token count tells."""
    if counted is None:
        return False
    return counted >= context - 1 or counted < size / _MOST_BYTES_PER_TOKEN


def models_on(url: str, seconds: float = 1.0) -> frozenset[str] | None:
    """Names of the models that the server at `url` holds; None where none answers in time."""
    import httpx
    from ollama import Client, ResponseError

    try:
        listed = Client(host=url, timeout=seconds).list()
    except (httpx.HTTPError, ConnectionError, ResponseError, ValueError):
        return None
    return frozenset(model.model for model in listed.models if model.model)
