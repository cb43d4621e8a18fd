"""What a reader is, and the readers by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from grasp_cli import defaults
from grasp_cli.readers.prompts import Prompt

READERS = {
    "transformers": "grasp_cli.readers.transformers:TransformersReader",
    "ollama": "grasp_cli.readers.ollama:OllamaReader",
    "openai": "grasp_cli.readers.openai:OpenAIReader",
}


@dataclass(frozen=True)
class Reply:
    """An answer and what it took.

    Token counts are the reader's own (None where a server does not tell); `seconds` is the time
    of this question, loading excluded; `truncated` says that part of the context was cut off;
    `dtype` is the number format of a model in this process; `cached` that nobody was asked, and
    counts and seconds are those of the time when somebody was.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    truncated: bool = False
    dtype: str | None = None
    cached: bool = False


class Reader(Protocol):
    """Answers one question at a time."""

    name: str  # as in READERS
    model: str

    def answer(self, prompt: Prompt) -> Reply:
        """Answer, or raise `RecordError` where this question cannot be answered."""
        ...

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """All that the answer to `prompt` depends on, as JSON values; no key, no address."""
        ...


@dataclass(frozen=True)
class ReaderSettings:
    """What the command line says about a reader. Times are seconds."""

    model: str
    url: str | None = None
    max_new_tokens: int = defaults.ANSWER.max_new_tokens
    concurrency: int = defaults.ANSWER.concurrency
    connect_timeout: float = defaults.ANSWER.connect_timeout
    read_timeout: float = defaults.ANSWER.read_timeout
    retries: int = defaults.ANSWER.retries
    max_wait: float = defaults.ANSWER.max_wait
    give_up_after: int = defaults.ANSWER.give_up_after
    dtype: str = "auto"
    threads: int | None = None


def address(name: str, url: str | None) -> str | None:
    """Where the reader called `name` sends its requests, with `url` as asked; None: nowhere."""
    if name == "ollama":
        return url or os.environ.get("OLLAMA_HOST") or defaults.ANSWER.ollama_url
    return (url or defaults.ANSWER.openai_url).rstrip("/") if name == "openai" else None


def make_reader(name: str, settings: ReaderSettings) -> Reader:
    """The reader called `name`; models load and servers are reached on the first question."""
    module, _, member = READERS[name].partition(":")
    kind: Any = getattr(import_module(module), member)
    reader: Reader = kind(settings)
    return reader
