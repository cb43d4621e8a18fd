"""Tiny seeded models on disk, one for each kind of weights that a method reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from tests.readers.tiny import BEGIN, END, byte_tokenizer


def t5(directory: Path, *, spread: float = 0.2, gated: bool = True) -> Path:
    """An encoder-decoder of two layers that reads bytes; `spread` 0 looks everywhere alike."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = byte_tokenizer(chat=False)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
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
    return _saved(directory, transformers.T5ForConditionalGeneration(config), tokenizer, spread)


def bert(directory: Path, *, positions: int = 512) -> Path:
    """An encoder of two layers that reads bytes."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    torch.manual_seed(12)
    model = transformers.BertModel(_bert_config(max_position_embeddings=positions))
    return _saved(directory, model, _pair_tokenizer(), 0.2)


def cross_encoder(directory: Path, *, labels: int = 1) -> Path:
    """A sequence classifier of two layers that reads two texts as bytes."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    torch.manual_seed(13)
    model = transformers.BertForSequenceClassification(_bert_config(num_labels=labels))
    return _saved(directory, model, _pair_tokenizer(), 0.4)


def _bert_config(**more: Any) -> Any:
    return quiet_transformers().BertConfig(
        vocab_size=len(byte_tokenizer(chat=False)),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        **{"max_position_embeddings": 512, **more},
    )


def _pair_tokenizer() -> Any:
    from tokenizers import processors

    tokenizer = byte_tokenizer(chat=False)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} $B:1 {END}:1",
        special_tokens=[(BEGIN, 0), (END, 1)],
    )
    return tokenizer


def _saved(directory: Path, model: Any, tokenizer: Any, spread: float) -> Path:
    torch = torch_runtime(1)
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=spread)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
