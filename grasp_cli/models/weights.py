"""The tensors of a model's directory, by name, without running any code.

safetensors hold nothing else. Where a published model exists only as `pytorch_model.bin`, a pickle,
torch unpickles it with `weights_only`, which knows tensors and containers and refuses the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from pickle import UnpicklingError  # what torch raises, and nothing else of it
from typing import Any

from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, ProcessingError

SAFE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"


def read_weights(directory: Path) -> dict[str, Any]:
    """All tensors as they are stored, on the CPU; safetensors where both kinds are there.

    Raises `MissingError` where there are none, `ProcessingError` for a pickle that would run code.
    """
    if (directory / INDEX).is_file():
        named = json.loads((directory / INDEX).read_bytes())["weight_map"].values()
        return _safe([_inside(directory, name) for name in sorted(set(named))])
    if (directory / SAFE).is_file():
        return _safe([directory / SAFE])
    if (directory / PICKLE).is_file():
        return _plain(directory / PICKLE)
    raise MissingError(f"{directory}: no weights in this directory (no {SAFE}, no {PICKLE})")


def _safe(files: list[Path]) -> dict[str, Any]:
    torch_runtime()
    from safetensors.torch import load_file

    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def _plain(file: Path) -> dict[str, Any]:
    torch = torch_runtime()
    try:
        return dict(torch.load(file, weights_only=True, map_location="cpu"))
    except UnpicklingError:
        raise ProcessingError(
            f"{file} holds more than weights, or is damaged, and grasp runs no code that comes "
            "with a model: get the model as safetensors"
        ) from None


def _inside(directory: Path, name: str) -> Path:
    """A file that the index names; it lies in the directory itself."""
    if Path(name).name != name:
        raise ProcessingError(f"{directory / INDEX}: {name} is not a file of this directory")
    return directory / name
