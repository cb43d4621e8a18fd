"""Where a model runs, in which number format, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from grasp_cli.models.dtype import choose_dtype
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, UsageError

DTYPES = ("auto", "float32", "bfloat16", "float16")


class Placement(NamedTuple):
    """A device and a number format, by torch's names for them."""

    device: str
    dtype: str
    reason: str

    def __str__(self) -> str:
        return f"{self.device}, {self.dtype} ({self.reason})"


def place(device: str = "auto", dtype: str = "auto") -> Placement:
    """Choose device (auto, cpu, cuda, cuda:N, mps) and dtype (one of `DTYPES`).

    Raises `MissingError` where the device asked for is not there.
    """
    chosen, why = _device(device)
    if dtype not in DTYPES:
        raise UsageError(f"there is no dtype {dtype!r}: choose {', '.join(DTYPES)}")
    if dtype != "auto":
        return Placement(chosen, dtype, f"{why}; {dtype} as asked")
    name, cause = _auto_dtype(chosen)
    return Placement(chosen, name, f"{why}; {cause}")


def _device(asked: str) -> tuple[str, str]:
    torch = torch_runtime()
    if asked == "auto":
        if torch.cuda.is_available():
            return "cuda:0", f"found {torch.cuda.get_device_name(0)}"
        if torch.backends.mps.is_available():
            return "mps", "found Apple's GPU"
        return "cpu", "no GPU found"
    kind, _, number = asked.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not (kind == "cuda" and number.isdigit())):
        raise UsageError(f"there is no device {asked!r}: choose auto, cpu, cuda, cuda:N or mps")
    if not _is_there(torch, kind, int(number or 0)):
        raise MissingError(f"there is no device {asked} on this machine: try --device auto")
    return (f"cuda:{number or 0}" if kind == "cuda" else kind), "device as asked"


def _is_there(torch: Any, kind: str, number: int) -> bool:
    if kind == "cuda":
        return bool(torch.cuda.is_available() and number < torch.cuda.device_count())
    return kind == "cpu" or bool(torch.backends.mps.is_available())


def _auto_dtype(device: str) -> tuple[str, str]:
    if device == "mps":
        return "float16", "float16 is its fast format"
    kind = device.partition(":")[0]
    name = str(choose_dtype("auto", kind)).removeprefix("torch.")
    if name == "bfloat16":
        return name, "it multiplies bfloat16 natively"
    return name, "it does not multiply bfloat16 natively"
