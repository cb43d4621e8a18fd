"""A tiny seeded Llama in a GGUF file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HIDDEN, LAYERS, INNER, HEADS = 32, 2, 64, 2


def write_gguf(path: Path) -> Path:
    """Write the file; the vocabulary is that of bytes, and two special tokens."""
    from gguf import GGUFWriter, TokenType
    from tokenizers.pre_tokenizers import ByteLevel

    tokens = ["<begin>", "<end>", *sorted(ByteLevel.alphabet()), "Ġa"]
    kinds = [TokenType.CONTROL] * 2 + [TokenType.NORMAL] * (len(tokens) - 2)
    writer = GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["Ġ a"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    random = np.random.default_rng(3)
    for name, shape in _shapes(len(tokens)).items():
        writer.add_tensor(name, random.normal(0, 0.2, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (vocabulary, HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "output.weight": (vocabulary, HIDDEN),
    }
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes[f"blk.{layer}.{part}.weight"] = (HIDDEN, HIDDEN)
        for part in ("attn_norm", "ffn_norm"):
            shapes[f"blk.{layer}.{part}.weight"] = (HIDDEN,)
        for part in ("ffn_gate", "ffn_up"):
            shapes[f"blk.{layer}.{part}.weight"] = (INNER, HIDDEN)
        shapes[f"blk.{layer}.ffn_down.weight"] = (HIDDEN, INNER)
    return shapes
