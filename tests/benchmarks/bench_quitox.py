"""QUITO-X against the plain way: one window at a time, every attention matrix returned.

The model is random, of flan-t5-small's shape; both read the same windows with the same weights.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grasp_cli.cli.options import fair_threads
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.seq2seq import Seq2Seq, quicker

LENGTHS = [511] * 2 + [60 + 37 * i % 121 for i in range(32)]  # a paper's windows, passages
ROUNDS = 3
TARGETS = {"float32": 1.0, "bfloat16": 1.5}
MEMORY = 0.1
SHAPE = {
    "vocab_size": 32128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 1024,
    "num_layers": 8,
    "num_decoder_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
    "decoder_start_token_id": 0,
}


def benchmarks() -> list[dict[str, Any]]:
    """Speed in both number formats, and the attention weights held at once."""
    torch, transformers = torch_runtime(fair_threads(None)), quiet_transformers()
    torch.manual_seed(0)
    model = transformers.T5Model(transformers.T5Config(**SHAPE)).eval()
    ours_model = quicker(copy.deepcopy(model))
    model.set_attn_implementation("eager")  # else it returns none
    inputs = [[5 + (31 * i * n) % 32000 for i in range(size - 1)] + [1]
              for n, size in enumerate(LENGTHS, start=1)]  # fmt: skip
    entries = []
    for dtype, target in TARGETS.items():
        model.to(getattr(torch, dtype))
        ours = Seq2Seq(Path("flan-t5-small's shape"), dtype=dtype)
        ours._models[dtype] = ours_model.to(getattr(torch, dtype))
        times = compared(lambda: dict(ours.attention(inputs)), lambda: plain(model, inputs))  # noqa: B023
        tokens = sum(LENGTHS) / times[0]
        entries += [
            entry(f"QUITO-X, {dtype}: tokens of windows", round(tokens), "tokens/s", None),
            entry(f"QUITO-X, {dtype}: against one by one", times[1] / times[0], "times", target),
        ]
    share = held(ours_model, inputs) / max(plain(model, [inputs[0]]))
    return [*entries, entry("QUITO-X: attention weights held", share, "of plain", MEMORY, False)]


def compared(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of both, in turns, so that a busy machine slows both."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for work, spent in zip((ours, theirs), seconds, strict=True):
            started = time.perf_counter()
            work()
            spent.append(time.perf_counter() - started)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def plain(model: Any, inputs: list[list[int]]) -> list[int]:
    """Bytes of all attention weights that each window's forward pass returns."""
    torch, sizes = torch_runtime(), list[int]()
    with torch.inference_mode():
        for tokens in inputs:
            ids = torch.tensor([tokens])
            start = torch.zeros((1, 1), dtype=torch.long)
            output = model(input_ids=ids, decoder_input_ids=start, output_attentions=True)
            weights = [*output.encoder_attentions, *output.decoder_attentions]
            sizes.append(sum(map(size, [*weights, *output.cross_attentions])))
    return sizes


def held(model: Any, inputs: list[list[int]]) -> int:
    """Most bytes of attention weights that a batch of ours holds at once.

    A wrapper counts what `seq2seq._weights` gives; the encoder's fused attention gives none. The
    additive position biases and masks, which both ways need, are not counted on either side.
    """
    from grasp_cli.models import seq2seq

    found, own = [], seq2seq._weights

    def counted(*arguments: Any) -> Any:
        weights = own(*arguments)
        found.append(size(weights))
        return weights

    seq2seq._weights = counted
    try:
        ours = Seq2Seq(Path("flan-t5-small's shape"), dtype="bfloat16")
        ours._models["bfloat16"] = model
        list(ours.attention(inputs))
    finally:
        seq2seq._weights = own
    return max(found)


def size(tensor: Any) -> int:
    """Bytes."""
    return int(tensor.numel() * tensor.element_size())


def entry(
    name: str, value: float, unit: str, target: float | None, least: bool = True
) -> dict[str, Any]:
    holds = None if target is None else (value >= target if least else value <= target)
    return {"name": name, "value": value, "unit": unit, "target": target, "holds": holds}
