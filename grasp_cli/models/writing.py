"""Models that write text: causal ones greedily, encoder-decoders with beams."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from grasp_cli.models.causal import CausalModel, tokenizer_directory
from grasp_cli.models.greedy import Continuer
from grasp_cli.models.local_model import LocalModel
from grasp_cli.models.runtime import quiet_transformers, torch_runtime

_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_WITHOUT_TEMPLATE = "[INST] {} [/INST]"  # Mistral's and Llama 2's


class CausalWriter:
    """Continues prompts with a causal model, always with the likeliest token."""

    def __init__(self, model: CausalModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """A name for records and messages."""
        return self.model.name

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer (package tokenizers)."""
        return self.model.tokenizer

    @property
    def positions(self) -> int | None:
        """How many tokens the model holds, prompt and answer together (None: not stated)."""
        return self.model.positions

    def load(self) -> None:
        """Load the weights."""
        _ = self.model.network

    def plain(self, text: str) -> list[int]:
        """The tokens of a prompt as it stands, with the model's first token."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [*self.model.first_tokens, *ids]

    def chat(self, message: str) -> list[int]:
        """The tokens of one user message in the model's chat template, else between [INST]."""
        if self._templated is None:
            return self.plain(_WITHOUT_TEMPLATE.format(message))
        rendered = self._templated.apply_chat_template(
            [{"role": "user", "content": message}], add_generation_prompt=True, tokenize=False
        )
        return list(self.tokenizer.encode(rendered, add_special_tokens=False).ids)

    def write(self, tokens: Sequence[int], most: int) -> str:
        """Up to `most` new tokens after `tokens`, as text."""
        ends = self._end_tokens
        new = Continuer(self.model.network).run(tokens, most, lambda found: found[-1] in ends)
        kept = [token for token in new if token not in ends]
        return str(self.tokenizer.decode(kept, skip_special_tokens=True)).strip()

    @cached_property
    def _end_tokens(self) -> set[int]:
        network = self.model.network
        found: set[int] = set()
        for config in (network.generation_config, network.config.get_text_config()):
            given = config.eos_token_id
            found |= set(given if isinstance(given, list) else [given])
        return found - {None}

    @cached_property
    def _templated(self) -> Any:
        """transformers' tokenizer where there is a chat template, else None."""
        directory = tokenizer_directory(self.model.path)
        settings = directory / "tokenizer_config.json"
        inside = settings.is_file() and json.loads(settings.read_bytes()).get("chat_template")
        if not inside and not any((directory / name).is_file() for name in _TEMPLATES):
            return None
        return quiet_transformers().AutoTokenizer.from_pretrained(
            directory, local_files_only=True, trust_remote_code=False
        )


class Seq2SeqWriter(LocalModel):
    """Writes with an encoder-decoder in a local directory, by beam search."""

    def load(self) -> None:
        """Load the weights."""
        _ = self._model

    def tokens(self, text: str) -> list[int]:
        """The tokens of an input, with the end token."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [*ids, int(self._model.config.eos_token_id)]

    def write(self, tokens: Sequence[int], *, most: int, beams: int, length_penalty: float) -> str:
        """Up to `most` new tokens, as text."""
        torch = torch_runtime(self._threads)
        ids = torch.tensor([list(tokens)], device=self.device)
        with torch.inference_mode():
            found = self._model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                num_beams=beams,
                length_penalty=length_penalty,
                early_stopping=True,
                max_new_tokens=most,
            )
        return str(self.tokenizer.decode(found[0].tolist(), skip_special_tokens=True)).strip()

    @cached_property
    def _model(self) -> Any:
        torch, transformers = torch_runtime(self._threads), quiet_transformers()
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            self.path,
            dtype=getattr(torch, self.dtype),
            local_files_only=True,
            trust_remote_code=False,
        )
        return model.to(self.device).eval()


def fitted(
    text: str, prompt: Callable[[str], list[int]], tokenizer: Any, most: int
) -> tuple[list[int], int] | None:
    """A prompt with as much of `text` in it as fits `most` tokens.

    Returns its tokens and how many of the text's were cut off the end; None where the prompt does
    not even fit without the text.
    """
    ends = [end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets]
    keep, tokens = len(ends), prompt(text)
    while len(tokens) > most and keep > 0:
        keep = max(0, keep - (len(tokens) - most))
        tokens = prompt(text[: ends[keep - 1]] if keep else "")
    return None if len(tokens) > most else (tokens, len(ends) - keep)
