"""Tiny causal models on disk: seeded random ones, and one whose answer is spelled out by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime

END = "<end>"
BEGIN = "<begin>"
ASSISTANT = "<assistant>"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SPECIAL = [BEGIN, END, ASSISTANT]


def byte_tokenizer(chat: bool) -> Any:
    """One token per byte and three special ones; `chat` gives it a template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: number for number, name in enumerate([*SPECIAL, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, vocabulary[BEGIN])]
    )
    return quiet_transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        chat_template=TEMPLATE if chat else None,
    )


def random_model(directory: Path, *, kind: str = "llama", chat: bool = False) -> Path:
    """A seeded model of two layers; `kind` gemma3 has layers with a sliding window of 16."""
    torch, transformers = torch_runtime(), quiet_transformers()
    tokenizer = byte_tokenizer(chat)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    if kind == "gemma3":
        config: Any = transformers.Gemma3TextConfig(
            **shape,
            head_dim=16,
            sliding_window=16,
            layer_types=["sliding_attention", "full_attention"],
        )
    else:
        config = transformers.LlamaConfig(**shape)
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.2)
    return _saved(directory, model, tokenizer)


def spelling_model(directory: Path, chain: list[str], *, chat: bool = False) -> Path:
    """A model in which each token of `chain` is followed by the next, whatever stood before.

    Attention and feed-forward add nothing, embeddings are one-hot, and the output head holds the
    transitions. After a token outside the chain comes its first.
    """
    torch, transformers = torch_runtime(), quiet_transformers()
    tokenizer = byte_tokenizer(chat)
    size = len(tokenizer)
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=size + size % 2,
        intermediate_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    number = tokenizer.get_vocab()
    tokens = [number[token if token in SPECIAL else _byte(token)] for token in chain]
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        for norm in (m for m in model.modules() if type(m).__name__.endswith("RMSNorm")):
            norm.weight.fill_(1.0)
        model.model.embed_tokens.weight[:, :size] = torch.eye(size)
        model.lm_head.weight[tokens[0], :] = 0.5
        for token, following in pairwise(tokens):
            model.lm_head.weight[following, token] = 1.0
    return _saved(directory, model, tokenizer)


def _byte(character: str) -> str:
    """How the byte-level alphabet writes an ASCII character."""
    return {" ": "Ġ", "\n": "Ċ"}.get(character, character)


def _saved(directory: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
