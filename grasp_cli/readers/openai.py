"""A model behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import Any

from grasp_cli.pipe.errors import UsageError
from grasp_cli.readers.prompts import Prompt, chat_messages
from grasp_cli.readers.reader import ReaderSettings, Reply, address
from grasp_cli.readers.server import Server, explained, garbage

KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIReader:
    """Greedy answers from `URL/chat/completions`, several at once.

    The key comes from the environment and goes nowhere but into the request.
    """

    name = "openai"

    def __init__(self, settings: ReaderSettings) -> None:
        self.model = settings.model
        self._settings = settings
        self._server = Server(
            str(address(self.name, settings.url)),
            "start it",
            "name one that it serves with --reader-model (and its address up to /v1 with --url)",
            settings,
        )

    @cached_property
    def _client(self) -> Any:
        import httpx

        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            return httpx.Client(headers=headers, **self._server.client_options())
        except UnicodeEncodeError:
            raise UsageError(f"{KEY_VARIABLE} holds characters that no key has") from None

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The body of the request."""
        return {
            "model": self.model,
            "messages": chat_messages(prompt),
            "max_tokens": self._settings.max_new_tokens,
            "temperature": 0,
            "seed": 0,
        }

    def answer(self, prompt: Prompt) -> Reply:
        """Answer, or raise the `RecordError` that says what the server lacks."""
        body = self.request(prompt)
        started = time.perf_counter()
        reply = self._post(body)
        text, prompt_tokens, completion_tokens = self._read(reply)
        return Reply(
            text=text.strip(),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=time.perf_counter() - started,
        )

    def _post(self, body: dict[str, Any]) -> Any:
        with explained(self._server):
            reply = self._client.post(f"{self._server.url}/chat/completions", json=body)
        if not reply.is_success:  # a redirect: the address is not quite right
            raise garbage(self._server)
        try:
            return reply.json()
        except ValueError:
            raise garbage(self._server) from None

    def _read(self, reply: Any) -> tuple[str, int | None, int | None]:
        try:
            text = reply["choices"][0]["message"]["content"]
            usage = reply.get("usage") or {}
            counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise garbage(self._server) from None
        if not isinstance(text, str):
            raise garbage(self._server)
        return text, *counts
