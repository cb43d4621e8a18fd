"""`make gpu-check`: the shared-prefix engine on a CUDA device, where there is one.

A random model of Gemma 2B's shape, so nothing is downloaded: scores equal to one prompt at a time
(float32, bfloat16, NF4), speed against the plain ways in bfloat16, and memory that runs out for
real. Ends with 1 where a check fails, with 0 where there is no CUDA device.

`--device cpu --tiny` runs the same steps on a small model, to check this file.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.shared_prefix import PrefixScorer

Prompts = list[list[int]]
ANSWERS = [3553, 1294]  # any two rows of a random head
GEMMA_2B = {
    "vocab_size": 256000,
    "hidden_size": 2048,
    "intermediate_size": 16384,
    "num_hidden_layers": 18,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "max_position_embeddings": 8192,
}
TINY = {
    **GEMMA_2B,
    "vocab_size": 4000,
    "hidden_size": 64,
    "intermediate_size": 128,
    "head_dim": 32,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
}
SHALLOW = {"num_hidden_layers": 2}


class Failed(Exception):
    """A check that does not hold."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args(arguments)
    torch = torch_runtime()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("gpu-check: no CUDA device on this machine, nothing was checked")
        return 0
    name = torch.cuda.get_device_name(0) if given.device == "cuda" else given.device
    print(f"gpu-check on {name}, torch {torch.__version__}")
    shape = TINY if given.tiny else GEMMA_2B
    failed = 0
    for check in (same_in_float32, same_and_faster_in_bfloat16, out_of_memory, nf4):
        started = time.perf_counter()
        try:
            verdict = f"holds: {check(shape, given.device)}"
        except Failed as problem:
            failed += 1
            verdict = f"FAILED: {problem}"
        print(f"{check.__name__:30} {time.perf_counter() - started:6.1f} s  {verdict}", flush=True)
    return 1 if failed else 0


def same_in_float32(shape: dict[str, int], device: str) -> str:
    model = network({**shape, **SHALLOW}, "float32", device)
    return compared(model, passages(6), 1e-4)


def same_and_faster_in_bfloat16(shape: dict[str, int], device: str) -> str:
    model = network(shape, "bfloat16", device)
    said = []
    for name, groups in (("passages", passages(40)), ("a document", [prompts(1900, [60] * 30, 9)])):
        flat = [prompt for group in groups for prompt in group]
        scorer = engine(model)
        shared = timed(lambda: scorer.score(groups), device)  # noqa: B023
        alone = timed(lambda: [plain(model, [prompt]) for prompt in flat], device)  # noqa: B023
        pairs = timed(
            lambda: [plain(model, flat[i : i + 2]) for i in range(0, len(flat), 2)],  # noqa: B023
            device,
        )
        said.append(
            f"{name}: {len(flat) / shared:.0f} prompts/s, {alone / shared:.1f}x one by one, "
            f"{pairs / shared:.1f}x pairs"
        )
    said.append(compared(model, passages(4), 0.03))
    return "; ".join(said)


def out_of_memory(shape: dict[str, int], device: str) -> str:
    """Batches that cannot fit, since the engine is told that memory has no end."""
    if device != "cuda":
        return "left out: memory is only limited on CUDA"
    torch = torch_runtime()
    model = network({**shape, **SHALLOW}, "bfloat16", device)
    group = prompts(1500, [40] * 400, 3)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    room = torch.cuda.memory_allocated() + (1 << 30)
    torch.cuda.set_per_process_memory_fraction(room / total)
    try:
        scorer = engine(model, batch_tokens=1 << 20, memory=1 << 50)
        found = scorer.score([group])[0]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    if scorer._most_rows is None:
        raise Failed("memory never ran out: the check needs larger batches")
    chosen = group[:: len(group) // 8]
    alone = torch.stack([plain(model, [prompt])[0] for prompt in chosen])
    difference = chances(found[:: len(group) // 8]) - chances(alone)
    return within(float(difference.abs().max()), 0.03) + f", {scorer._most_rows} rows at last"


def nf4(shape: dict[str, int], device: str) -> str:
    from importlib.util import find_spec

    if find_spec("bitsandbytes") is None:
        return "left out: bitsandbytes is not installed"
    with tempfile.TemporaryDirectory() as directory:
        network({**shape, **SHALLOW}, "bfloat16", "cpu").save_pretrained(directory)
        running = Running(device=device, dtype="bfloat16", quantize="nf4", quiet=True)
        from pathlib import Path

        model = CausalModel(Path(directory), running).network
        return compared(model, passages(6), 0.03)


def network(shape: dict[str, int], dtype: str, device: str) -> Any:
    torch, transformers = torch_runtime(), quiet_transformers()
    config = transformers.GemmaConfig(**shape, initializer_range=0.05)
    torch.manual_seed(1)
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    return model.eval()


def prompts(shared: int, tails: list[int], seed: int) -> Prompts:
    source = random.Random(seed)
    start = [source.randrange(5, 3500) for _ in range(shared)]
    return [start + [source.randrange(5, 3500) for _ in range(tail)] for tail in tails]


def passages(count: int) -> list[Prompts]:
    """Groups as of passages: a prefix of about 150 tokens, a few suffixes."""
    source = random.Random(count)
    return [
        prompts(
            source.randrange(90, 200),
            [source.randrange(40, 80) for _ in range(source.randrange(2, 7))],
            seed,
        )
        for seed in range(count)
    ]


def engine(model: Any, **limits: int) -> PrefixScorer:
    rows = model.get_output_embeddings().weight[ANSWERS].detach()
    return PrefixScorer(model, rows, **limits)


def plain(model: Any, batch: Prompts) -> Any:
    """Left-padded, full logits at every position: shape (batch, 2)."""
    torch = torch_runtime()
    length = max(map(len, batch))
    ids = torch.tensor([[0] * (length - len(p)) + p for p in batch], device=model.device)
    mask = torch.tensor(
        [[0] * (length - len(p)) + [1] * len(p) for p in batch], device=model.device
    )
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        logits = model(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False
        ).logits
    return logits[:, -1, ANSWERS].float().cpu()


def chances(logits: Any) -> Any:
    return torch_runtime().softmax(logits.double(), -1)[:, 0]


def compared(model: Any, groups: list[Prompts], tolerance: float) -> str:
    torch = torch_runtime()
    found = torch.cat(engine(model).score(groups))
    alone = torch.cat([plain(model, [prompt]) for group in groups for prompt in group])
    spread = float(chances(alone).std())
    if not spread > tolerance / 10:
        raise Failed(f"the scores hardly differ (spread {spread:.1e}): the check shows nothing")
    difference = within(float((chances(found) - chances(alone)).abs().max()), tolerance)
    return f"{difference}, spread {spread:.1e}"


def within(difference: float, tolerance: float) -> str:
    said = f"largest difference {difference:.1e} (at most {tolerance:g})"
    if not difference <= tolerance:
        raise Failed(said)
    return said


def timed(work: Callable[[], Any], device: str) -> float:
    """Seconds of a second run: the first compiles and fills caches."""
    torch = torch_runtime()
    for _ in range(2):
        if device == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
