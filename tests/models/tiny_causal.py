"""Tiny seeded causal models of several families, and the naive way to score with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime

FAMILIES = ("gemma", "gemma2", "gemma3", "llama")
SPECIAL = ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"]
WINDOW = 24  # of the sliding-window layers; prefixes in the tests are longer
POSITIONS = 4096


def tokenizer() -> Any:
    """A token per byte, special ones, and "Yes" and "No" merged to one token each."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*SPECIAL, *alphabet, "Ye", "Yes", "No"]
    vocabulary = {name: number for number, name in enumerate(names)}
    made = Tokenizer(models.BPE(vocabulary, [("Y", "e"), ("Ye", "s"), ("N", "o")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(SPECIAL)
    made.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", vocabulary["<bos>"])]
    )
    return quiet_transformers().PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>"
    )


def config(family: str, size: int, **more: int) -> Any:
    """The configuration of a model of two or four layers."""
    transformers = quiet_transformers()
    shape = {
        "vocab_size": size,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 4 if family == "gemma3" else 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 2,
        **more,
    }
    if family == "llama":
        return transformers.LlamaConfig(**shape)
    if family == "gemma":
        return transformers.GemmaConfig(**shape)
    layers = ["sliding_attention", "full_attention"] * (shape["num_hidden_layers"] // 2)
    windowed = {**shape, "sliding_window": WINDOW, "layer_types": layers}
    if family == "gemma2":
        return transformers.Gemma2Config(
            **windowed, query_pre_attn_scalar=8, final_logit_softcapping=3.0
        )
    return transformers.Gemma3TextConfig(**windowed, query_pre_attn_scalar=8)


def network(family: str, **more: int) -> Any:
    """A model with random weights, seeded, and large enough that its answers differ."""
    torch, transformers = torch_runtime(), quiet_transformers()
    made = config(family, len(tokenizer()), **more)
    torch.manual_seed(11)
    model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.float32)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.25)
    return model.eval()


@lru_cache
def kept(family: str) -> Any:
    """`network`, made once."""
    return network(family)


def saved(directory: Path, family: str, **more: int) -> Path:
    """Such a model on disk with its tokenizer; `more` changes its configuration."""
    network(family, **more).save_pretrained(directory)
    tokenizer().save_pretrained(directory)
    return directory


def naive_logits(model: Any, prompts: Sequence[Sequence[int]], tokens: Sequence[int]) -> Any:
    """Each prompt by itself, whole, without a cache, logits at every position: shape (n, k)."""
    torch = torch_runtime()
    found = []
    with torch.inference_mode():
        for prompt in prompts:
            logits = model(input_ids=torch.tensor([list(prompt)]), use_cache=False).logits
            found.append(logits[0, -1, list(tokens)].float())
    return torch.stack(found)
