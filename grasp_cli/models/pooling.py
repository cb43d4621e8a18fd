"""How a sentence-transformers directory makes one vector from token states."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from grasp_cli.pipe.errors import ProcessingError

_MEAN, _CLS = "pooling_mode_mean_tokens", "pooling_mode_cls_token"


@dataclass(frozen=True)
class Pooling:
    """Mean of the token states or the first of them, normalised to length one or not."""

    mode: str = "mean"
    normalise: bool = False

    @classmethod
    def of(cls, path: Path) -> Pooling:
        """What `modules.json` in `path` states; without that file the plain mean."""
        listing = path / "modules.json"
        if not listing.exists():
            return cls()
        kinds = {
            str(module["type"]).rsplit(".", 1)[-1]: str(module["path"])
            for module in orjson.loads(listing.read_bytes())
        }
        unknown = sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"})
        if unknown:
            raise ProcessingError(f"{path}: modules that are not supported: {', '.join(unknown)}")
        mode = "mean"
        if "Pooling" in kinds:
            settings = orjson.loads((path / kinds["Pooling"] / "config.json").read_bytes())
            mode = _mode(path, settings)
        return cls(mode, "Normalize" in kinds)

    def pool(self, states: Any) -> npt.NDArray[np.float32]:
        """One vector of a tensor of token states, shape (tokens, d) to (d,)."""
        pooled = states.mean(dim=0) if self.mode == "mean" else states[0]
        vector: npt.NDArray[np.float32] = pooled.numpy()
        return vector


def _mode(path: Path, settings: dict[str, Any]) -> str:
    if "pooling_mode" in settings:
        mode = settings["pooling_mode"]
    else:
        wanted = [
            key for key, value in settings.items() if key.startswith("pooling_mode") and value
        ]
        mode = " + ".join({_MEAN: "mean", _CLS: "cls"}.get(key, key) for key in wanted)
    if mode not in ("mean", "cls"):
        raise ProcessingError(f"{path}: pooling {mode!r} is not supported, only mean and cls")
    return str(mode)
