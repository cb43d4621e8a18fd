"""Text to tokens and back for a local model, in its chat form or, without one, its base form."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers
from grasp_cli.readers.prompts import Prompt, base_text, chat_messages
from grasp_cli.text.tokens import load_tokenizer

_SETTINGS = "tokenizer_config.json"
_TEMPLATES = ("chat_template.jinja", "chat_template.json")


class LocalText:
    """Renders prompts for the tokenizer in a model's directory.

    A tokenizer with a chat template gets the chat form; any other the base form. transformers'
    tokenizer is loaded only for a template: it takes seconds longer than the plain one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def is_chat(self) -> bool:
        """Whether the tokenizer brings a chat template."""
        beside = any((self._directory / name).is_file() for name in _TEMPLATES)
        return beside or bool(self._settings.get("chat_template"))

    @property
    def end_tokens(self) -> set[int]:
        """Tokens that end an answer, as far as the tokenizer knows."""
        end = self._settings.get("eos_token")
        name = end.get("content") if isinstance(end, dict) else end
        return {self._tokenizer.token_to_id(name)} - {None} if name else set()

    def tokens(self, prompt: Prompt) -> list[int]:
        """The whole prompt as token ids, special tokens included once."""
        if not self.is_chat:
            return list(self._tokenizer.encode(base_text(prompt)).ids)
        rendered = self._templated.apply_chat_template(
            chat_messages(prompt), add_generation_prompt=True, tokenize=False
        )
        return list(self._tokenizer.encode(rendered, add_special_tokens=False).ids)

    def text(self, tokens: list[int]) -> str:
        """Generated tokens as text."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def cut(self, prompt: Prompt, limit: int) -> tuple[Prompt, list[int]]:
        """The prompt with as much of its context as fits `limit` tokens, and its tokens.

        The end of the context goes, never the question or the instruction; with no context left
        the tokens may still be more than `limit`.
        """
        tokens = self.tokens(prompt)
        while len(tokens) > limit and prompt.context:
            ends = self._token_ends(prompt.context)
            keep = len(ends) - (len(tokens) - limit)
            prompt = prompt.with_context(prompt.context[: ends[keep - 1]] if keep > 0 else "")
            tokens = self.tokens(prompt)
        return prompt, tokens

    def _token_ends(self, text: str) -> list[int]:
        """Where each token of `text` ends, in characters."""
        return [end for _, end in self._tokenizer.encode(text, add_special_tokens=False).offsets]

    @cached_property
    def _settings(self) -> dict[str, Any]:
        file = self._directory / _SETTINGS
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}

    @cached_property
    def _tokenizer(self) -> Any:
        """A tokenizer of the package tokenizers."""
        if not self.is_chat and (self._directory / "tokenizer.json").is_file():
            return load_tokenizer(self._directory)
        return self._templated.backend_tokenizer

    @cached_property
    def _templated(self) -> Any:
        """transformers' tokenizer, which also makes one of older files (`tokenizer.model`)."""
        return quiet_transformers().AutoTokenizer.from_pretrained(
            self._directory, local_files_only=True, trust_remote_code=False
        )
