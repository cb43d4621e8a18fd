"""How a sentence-transformers directory makes one vector from token states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from grasp_cli.models.runtime import torch_runtime
from grasp_cli.models.weights import read_weights
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float32]
_SWITCHES = {  # of directories written before sentence-transformers 5.5
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_POOLED = "sentence_embedding"


def _weighted_mean(states: Any) -> Any:
    """The later a token, the more it counts."""
    weights = torch_runtime().arange(1, len(states) + 1, dtype=states.dtype)[:, None]
    return (states * weights).sum(dim=0) / weights.sum()


POOLINGS: dict[str, Callable[[Any], Any]] = {  # states of one text, shape (tokens, d), to (d,)
    "cls": lambda states: states[0],
    "max": lambda states: states.max(dim=0).values,
    "mean": lambda states: states.mean(dim=0),
    "mean_sqrt_len_tokens": lambda states: states.sum(dim=0) / len(states) ** 0.5,
    "weightedmean": _weighted_mean,
    "lasttoken": lambda states: states[-1],
}


@dataclass(frozen=True)
class Projection:
    """A linear layer with its activation, applied to the pooled vector."""

    weight: Any  # shape (out, in)
    bias: Any  # shape (out,), or None
    activation: Callable[[Any], Any]

    def apply(self, vectors: Floats) -> Floats:
        """Shape (n, in) to (n, out)."""
        torch = torch_runtime()
        with torch.inference_mode():
            made = torch.nn.functional.linear(torch.from_numpy(vectors), self.weight, self.bias)
            found: Floats = self.activation(made).numpy()
            return found


@dataclass(frozen=True)
class Pooling:
    """Vectors of token states side by side, projected perhaps, of length one perhaps."""

    modes: tuple[str, ...] = ("mean",)
    projections: tuple[Projection, ...] = ()
    normalise: bool = False

    @classmethod
    def of(cls, path: Path) -> Pooling:
        """What `modules.json` in `path` states; without that file the plain mean.

        Raises `ProcessingError` where a module or a setting is not one that is known here.
        """
        listing = path / "modules.json"
        if not listing.exists():
            return cls()
        modes: tuple[str, ...] = ("mean",)
        projections, normalise = [], False
        for module in orjson.loads(listing.read_bytes()):
            kind, place = str(module["type"]).rsplit(".", 1)[-1], path / str(module["path"])
            if kind == "Pooling":
                modes = _modes(path, orjson.loads((place / "config.json").read_bytes()))
            elif kind == "Dense" and not normalise:
                projections.append(_projection(place))
            elif kind == "Normalize":
                normalise = True
            elif kind not in ("Transformer", "Dropout"):
                raise ProcessingError(f"{path}: the module {kind} is not supported here")
        return cls(modes, tuple(projections), normalise)

    def dimension(self, hidden_size: int) -> int:
        """The length of a vector made of states of `hidden_size`."""
        if self.projections:
            return int(self.projections[-1].weight.shape[0])
        return len(self.modes) * hidden_size

    def pool(self, states: Any) -> Floats:
        """One vector of a tensor of token states, shape (tokens, d) to (modes * d,)."""
        parts = [POOLINGS[mode](states).numpy() for mode in self.modes]
        vector: Floats = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return vector

    def finish(self, vectors: Floats) -> Floats:
        """Pooled vectors, shape (n, modes * d), projected and normalised as the model asks."""
        for projection in self.projections:
            vectors = projection.apply(vectors)
        if self.normalise:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors


def _modes(path: Path, settings: dict[str, Any]) -> tuple[str, ...]:
    given = settings.get("pooling_mode")
    if given is None:
        given = [mode for key, mode in _SWITCHES.items() if settings.get(key)]
    modes = (given,) if isinstance(given, str) else tuple(given)
    unknown = [mode for mode in modes if mode not in POOLINGS]
    if unknown or not modes:
        raise ProcessingError(f"{path}: pooling {' + '.join(modes) or 'none'} is not supported")
    if settings.get("include_prompt") is False:
        raise ProcessingError(f"{path}: pooling without the prompt is not supported")
    return modes


def _projection(path: Path) -> Projection:
    torch, settings = torch_runtime(), orjson.loads((path / "config.json").read_bytes())
    module, _, name = settings.get("activation_function", "torch.nn.Tanh").rpartition(".")
    if not module.startswith("torch.nn") or not hasattr(torch.nn, name):
        raise ProcessingError(f"{path}: the activation {name} is not supported")
    if settings.get("use_residual") or settings.get("module_input_name", _POOLED) != _POOLED:
        raise ProcessingError(f"{path}: a dense layer of this kind is not supported")
    weights = read_weights(path)
    bias = weights.get("linear.bias")
    return Projection(
        weights["linear.weight"].float(),
        None if bias is None else bias.float(),
        getattr(torch.nn, name)(),
    )
