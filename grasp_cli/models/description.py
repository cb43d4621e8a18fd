"""A model on this machine in one line, from its configuration; nothing is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from grasp_cli.models.locate import GGUF, find, locate
from grasp_cli.models.profiles import MODELS, PackagedGguf
from grasp_cli.pipe.errors import DataError

_CONFIGS = ("config.json", "adapter_config.json", "modules.json")


def described(name_or_path: str) -> str:
    """Where the model called so lies, of what kind it is, and how its weights are stored.

    Raises `MissingError` where it is not here. A GGUF that was not used yet is not converted.
    """
    if place := _unconverted(name_or_path):
        return f"{place}: GGUF, converted once at the first use"
    path = find(name_or_path)
    return f"{path}: {', '.join(part for part in (_architecture(path), *_weights(path)) if part)}"


def only_pickled(path: Path) -> bool:
    """Whether a directory has its weights as .bin files alone, which are pickles."""
    return any(path.glob("*.bin")) and not any(path.glob("*.safetensors"))


def _unconverted(name_or_path: str) -> Path | None:
    """Where a GGUF lies that the first use converts."""
    from grasp_cli.models.gguf import converted_directory

    path = Path(name_or_path).expanduser()
    if path.suffix == GGUF and path.is_file():
        return path
    model = MODELS.get(name_or_path)
    for source in model.sources if model else ():
        if isinstance(source, PackagedGguf) and not converted_directory(source.sha256).is_dir():
            return locate(source)
    return None


def _architecture(path: Path) -> str:
    config = _config(path)
    if isinstance(config, list):  # modules.json of a sentence-transformers model
        return "sentence-transformers"
    if "peft_type" in config:
        return f"{config['peft_type']} adapter on {config.get('base_model_name_or_path')}"
    if "base_sha256" in config:
        return f"evidence classifier on {config.get('base')}"
    return str((config.get("architectures") or [config.get("model_type", "")])[0])


def _config(path: Path) -> Any:
    for name in _CONFIGS:
        if (path / name).is_file():
            try:
                return orjson.loads((path / name).read_bytes())
            except orjson.JSONDecodeError as error:
                raise DataError(f"{path / name}: not JSON ({error}); get the model again") from None
    return {}


def _weights(path: Path) -> list[str]:
    for pattern in ("*.safetensors", "*.bin"):
        if files := sorted(path.glob(pattern)):
            size = f"{sum(file.stat().st_size for file in files) / 1e6:.0f} MB"
            return [size, "weights as .bin only"] if pattern == "*.bin" else [size]
    return ["no weights"]
