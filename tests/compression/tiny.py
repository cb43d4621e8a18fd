"""Tiny seeded models on disk, one for each kind of weights that a method reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from tests.readers.tiny import byte_tokenizer


def t5(directory: Path, *, spread: float = 0.2, gated: bool = True) -> Path:
    """An encoder-decoder of two layers that reads bytes; `spread` 0 looks everywhere alike."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = byte_tokenizer(chat=False)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=3,
        feed_forward_proj="gated-gelu" if gated else "relu",
        tie_word_embeddings=not gated,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    torch.manual_seed(11)
    model = transformers.T5ForConditionalGeneration(config)
    return _saved(directory, model, tokenizer, spread)


def _saved(directory: Path, model: Any, tokenizer: Any, spread: float) -> Path:
    torch = torch_runtime(1)
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=spread)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
