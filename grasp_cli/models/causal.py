"""Causal language models in this process: base weights, adapters, quantised weights."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grasp_cli.models.locate import find
from grasp_cli.models.placement import Placement, place
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import DataError, MissingError, UsageError
from grasp_cli.pipe.log import LOG
from grasp_cli.text.tokens import load_tokenizer

QUANTIZE = ("none", "nf4", "int8")
ADAPTER = "adapter_config.json"
GPU_EXTRA = "pip install 'grasp-cli[gpu]'"


@dataclass(frozen=True)
class Running:
    """How a causal model is to be run."""

    device: str = "auto"
    dtype: str = "auto"
    quantize: str = "none"
    threads: int | None = None
    quiet: bool = False


def is_causal(path: Path) -> bool:
    """Whether the directory holds a causal language model, or an adapter of one."""
    if (path / ADAPTER).is_file():
        return bool(_settings(path / ADAPTER).get("task_type", "CAUSAL_LM") == "CAUSAL_LM")
    config = path / "config.json"
    architectures = _settings(config).get("architectures") if config.is_file() else None
    return any(name.endswith("ForCausalLM") for name in architectures or [])


def tokenizer_directory(path: Path) -> Path:
    """Where the tokenizer of a model is: an adapter may leave it to its base."""
    if (path / "tokenizer.json").is_file() or not (path / ADAPTER).is_file():
        return path
    return base_of(path)


def base_of(adapter: Path) -> Path:
    """The directory of an adapter's base model; raises `MissingError` with how to get it."""
    named = _settings(adapter / ADAPTER).get("base_model_name_or_path")
    if not named:
        raise DataError(f"{adapter / ADAPTER}: it does not name its base model")
    try:
        return find(named)
    except MissingError as problem:
        message = f"{adapter.name} is an adapter of {named}, which is not here: {problem}"
        raise MissingError(message) from None


class CausalModel:
    """A causal model in a local directory, loaded on first use."""

    def __init__(self, path: Path, running: Running = Running(), name: str | None = None) -> None:
        self.path = path
        self.name = name or path.name  # for records and messages
        self._running = running

    @property
    def quantize(self) -> str:
        """How its weights are kept: one of `QUANTIZE`."""
        return self._running.quantize

    @cached_property
    def placement(self) -> Placement:
        """Device and number format."""
        return place(self._running.device, self._running.dtype)

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer (package tokenizers) without truncation and padding."""
        return load_tokenizer(tokenizer_directory(self.path))

    @cached_property
    def first_tokens(self) -> list[int]:
        """The one BOS that a prompt begins with, or nothing where the model has none."""
        given = self.network.config.get_text_config().bos_token_id
        return [given[0] if isinstance(given, list) else given] if given is not None else []

    @property
    def positions(self) -> int | None:
        """How many tokens the model can hold (None: not stated)."""
        config = self.network.config.get_text_config()
        return getattr(config, "max_position_embeddings", None)

    def token(self, word: str) -> int:
        """The one token of `word`; raises `DataError` where it takes more."""
        ids = self.tokenizer.encode(word, add_special_tokens=False).ids
        if len(ids) != 1:
            raise DataError(
                f"{self.path}: its tokenizer makes {len(ids)} tokens of {word!r}, and the "
                "classifier needs it to be one; choose another --classifier"
            )
        return int(ids[0])

    @cached_property
    def network(self) -> Any:
        """The model of transformers, with its adapter, where it is to run; said on stderr."""
        torch_runtime(self._running.threads)
        quantization = _quantization(self._running.quantize, self.placement)
        adapter = (self.path / ADAPTER).is_file()
        base = base_of(self.path) if adapter else self.path
        if adapter:
            _require("peft", "reading an adapter")
        self._say(adapter)
        network = _load(base, self.placement, quantization)
        if adapter:
            from grasp_cli.models.adapter import with_adapter

            network = with_adapter(network, self.path, merge=quantization is None)
        return network.eval()

    def _say(self, adapter: bool) -> None:
        if not self._running.quiet:
            quantized = self.quantize != "none"
            weights = f", {self.quantize}" if quantized else ""
            merged = ", its adapter merged" if adapter and not quantized else ""
            LOG.say(f"{self.name} on {self.placement}{weights}{merged}")


def _load(directory: Path, placement: Placement, quantization: Any) -> Any:
    torch, transformers = torch_runtime(), quiet_transformers()
    options: dict[str, Any] = {"dtype": getattr(torch, placement.dtype)}
    if quantization is not None:
        options |= {"quantization_config": quantization, "device_map": {"": placement.device}}
    network = transformers.AutoModelForCausalLM.from_pretrained(
        directory, local_files_only=True, trust_remote_code=False, **options
    )
    return network if quantization is not None else network.to(placement.device)


def _quantization(asked: str, placement: Placement) -> Any:
    """The settings for bitsandbytes, or None; raises `MissingError` where it cannot run."""
    if asked not in QUANTIZE:
        raise UsageError(f"there is no quantisation {asked!r}: choose {', '.join(QUANTIZE)}")
    if asked == "none":
        return None
    if placement.device == "mps":
        raise MissingError("bitsandbytes does not run on mps: leave --quantize out")
    for package in ("bitsandbytes", "accelerate"):
        _require(package, f"--quantize {asked}")
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it warns on every product
    torch, transformers = torch_runtime(), quiet_transformers()
    if asked == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=getattr(torch, placement.dtype),
    )


def _require(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MissingError(f"{purpose} needs the package {package}: {GPU_EXTRA}")


def _settings(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_bytes()))


class Head:
    """A few rows of a model's output head, with what the model does to its logits."""

    def __init__(self, model: CausalModel, tokens: Sequence[int]) -> None:
        self._network = network = model.network
        output = network.get_output_embeddings()
        places = list(tokens)
        self.rows = output.weight[places].detach().float()
        bias = getattr(output, "bias", None)
        self._bias = None if bias is None else bias[places].detach().float().cpu()
        self._cap = getattr(network.config.get_text_config(), "final_logit_softcapping", None)
        self._check(model, places)

    def logits(self, products: Any) -> Any:
        """The model's logits from products of states and rows, shape (n, rows)."""
        if self._bias is not None:
            products = products + self._bias
        if self._cap:
            products = torch_runtime().tanh(products / self._cap) * self._cap
        return products

    def plain(self, tokens: Sequence[int]) -> Any:
        """Products of the state after `tokens` and the rows, without any cache: shape (1, rows)."""
        torch = torch_runtime()
        with torch.inference_mode():
            ids = torch.tensor([list(tokens)], device=self._network.device)
            states = self._network.base_model(input_ids=ids, use_cache=False).last_hidden_state
            return (states[0, -1:].float() @ self.rows.to(states.device).T).cpu()

    def _check(self, model: CausalModel, places: list[int]) -> None:
        """Compare with the model's own logits: another head would be wrong without a sound."""
        torch = torch_runtime()
        probe = [*model.first_tokens, *places]
        found = self.logits(self.plain(probe))[0]
        with torch.inference_mode():
            ids = torch.tensor([probe], device=self._network.device)
            logits = self._network(input_ids=ids, use_cache=False).logits[0, -1, places]
            logits = logits.float().cpu()
        allowed = 0.05 * (1 + float(logits.abs().max()))  # 16 bit rounds that far
        if not float((found - logits).abs().max()) <= allowed:
            raise DataError(
                f"{model.path}: this architecture does more to its logits than grasp knows "
                f"({found.tolist()} for {logits.tolist()}); choose another --classifier"
            )
