"""Encoders whose layers are trained, and read with a head of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime


def trainable_encoder(base: Path, attention: str) -> Any:
    """The encoder in a directory, float32, without the pooler, which is not read.

    `attention` is transformers' name of how it is computed: only "eager" can be read.
    """
    encoder = quiet_transformers().AutoModel.from_pretrained(
        base,
        local_files_only=True,
        trust_remote_code=False,
        dtype=torch_runtime().float32,
        attn_implementation=attention,
    )
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder
