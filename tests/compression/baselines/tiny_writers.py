"""Tiny models on disk that write what they are told: each character follows the one before."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from tests.readers.tiny import END, byte_tokenizer, spelling_model

_START, _END = 0, 1
_SURE = 30.0  # how far apart the logits are


def causal(directory: Path, text: str) -> Path:
    """A causal model that writes `text` (no character twice) whatever it is asked."""
    return spelling_model(directory, [*text, END])


def t5(directory: Path, text: str) -> Path:
    """An encoder-decoder that writes `text` (no character twice) whatever it reads.

    Embeddings are one-hot, the decoder's feed-forward layer holds the transitions (the output head
    is tied to the embeddings), and all other layers add nothing.
    """
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = byte_tokenizer(chat=False)
    size = len(tokenizer)
    config = transformers.T5Config(
        vocab_size=size,
        d_model=size,
        d_kv=2,
        d_ff=size,
        num_layers=1,
        num_heads=1,
        feed_forward_proj="relu",
        decoder_start_token_id=_START,
        pad_token_id=_START,
        eos_token_id=_END,
    )
    model = transformers.T5ForConditionalGeneration(config)
    number = tokenizer.get_vocab()
    chain = [_START, *(number[{" ": "Ġ"}.get(one, one)] for one in text), _END]
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        for norm in (m for m in model.modules() if type(m).__name__.endswith("LayerNorm")):
            norm.weight.fill_(1.0)
        model.shared.weight.copy_(_SURE * torch.eye(size))
        forward = model.decoder.block[0].layer[2].DenseReluDense
        forward.wi.weight.copy_(_SURE * _SURE * torch.eye(size))
        follower = dict.fromkeys(range(size), chain[1]) | dict(pairwise(chain))
        for token, following in follower.items():
            forward.wo.weight[following, token] = 1.0
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
