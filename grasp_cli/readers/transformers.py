"""A causal language model in this process, through transformers."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any

from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.greedy import Continuer, common_prefix
from grasp_cli.models.locate import find
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import RecordError
from grasp_cli.readers.local_text import LocalText
from grasp_cli.readers.prompts import Prompt, base_text, chat_messages
from grasp_cli.readers.reader import ReaderSettings, Reply

_PROBES = ("a", "1 + 2")  # contexts that share no beginning


class TransformersReader:
    """Greedy answers, one question at a time.

    What all prompts begin with (instruction and examples) is computed once. Batches were not
    worth their padding: on a CPU nearly all time goes into reading the context.
    """

    name = "transformers"

    def __init__(self, settings: ReaderSettings) -> None:
        self.model = settings.model
        self._settings = settings
        self._continuers: dict[str, Continuer] = {}

    @cached_property
    def _directory(self) -> Path:
        return find(self.model)

    @cached_property
    def _text(self) -> LocalText:
        return LocalText(self._directory)

    @cached_property
    def _network(self) -> Any:
        torch = torch_runtime(self._settings.threads)
        transformers = quiet_transformers()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        network = transformers.AutoModelForCausalLM.from_pretrained(
            self._directory,
            dtype=choose_dtype(self._settings.dtype, device),
            local_files_only=True,
            trust_remote_code=False,
        )
        return network.to(device).eval()

    @cached_property
    def _end_tokens(self) -> set[int]:
        """The tokenizer's end of text and those of the model's own generation settings."""
        given = self._network.generation_config.eos_token_id
        more = given if isinstance(given, list) else [given]
        return self._text.end_tokens | {token for token in more if token is not None}

    @property
    def positions(self) -> int | None:
        """How many tokens the model can hold, prompt and answer together (None: not stated)."""
        return getattr(self._network.config, "max_position_embeddings", None)

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The prompt, the settings, and the weights as their files' sizes and times."""
        files = sorted(path for path in self._directory.iterdir() if path.is_file())
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return {
            "weights": [list(stat) for stat in stats],
            "prompt": chat_messages(prompt) if self._text.is_chat else base_text(prompt),
            "max_new_tokens": self._settings.max_new_tokens,
            "dtype": self._settings.dtype,
        }

    def answer(self, prompt: Prompt) -> Reply:
        """Answer; a context too long loses its end, a question too long is a `RecordError`."""
        continuer = self._continuer(prompt.style)
        started = time.perf_counter()
        asked, tokens = self._fitted(prompt)
        new = continuer.run(tokens, self._settings.max_new_tokens, self._is_done)
        kept = [token for token in new if token not in self._end_tokens]
        text = self._text.text(kept).strip()
        return Reply(
            text=text if self._text.is_chat else text.partition("\n")[0].strip(),
            prompt_tokens=len(tokens),
            completion_tokens=len(new),
            seconds=time.perf_counter() - started,
            truncated=asked is not prompt,
            dtype=str(self._network.dtype).removeprefix("torch."),
        )

    def _continuer(self, style: str) -> Continuer:
        if style not in self._continuers:
            first, second = (self._text.tokens(Prompt(style, one, one)) for one in _PROBES)
            continuer = Continuer(self._network, common_prefix(first, second))
            continuer.prepare()
            self._continuers[style] = continuer
        return self._continuers[style]

    def _fitted(self, prompt: Prompt) -> tuple[Prompt, list[int]]:
        if self.positions is None:
            return prompt, self._text.tokens(prompt)
        limit = self.positions - self._settings.max_new_tokens
        asked, tokens = self._text.cut(prompt, limit)
        if len(tokens) > limit:
            raise RecordError(
                f"the question alone takes {len(tokens)} tokens with its instruction, and "
                f"{self.model} holds {limit} beside the answer; shorten it",
                kind="QuestionTooLong",
            )
        return asked, tokens

    def _is_done(self, new: list[int]) -> bool:
        if new[-1] in self._end_tokens:
            return True
        if self._text.is_chat:
            return False
        return "\n" in self._text.text(new).lstrip()
