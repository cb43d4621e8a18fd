"""Which number format a model computes in, and why."""

from __future__ import annotations

from typing import Any

from grasp_cli.models.runtime import torch_runtime

DTYPES = ("auto", "float32", "bfloat16")


def choose_dtype(asked: str, device: str) -> Any:
    """The torch dtype for `asked` ("auto", "float32" or "bfloat16") on `device` ("cpu", "cuda").

    On a CPU `auto` is bfloat16 only where the processor multiplies it natively: there it makes a
    causal model over 1.5 times faster, and elsewhere it is emulated and slower than float32.
    """
    torch = torch_runtime()
    if asked != "auto":
        return getattr(torch, asked)
    fast = torch.cuda.is_bf16_supported() if device == "cuda" else _processor_has_bfloat16(torch)
    return torch.bfloat16 if fast else torch.float32


def _processor_has_bfloat16(torch: Any) -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()) and bool(
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )
