"""A trained evidence model on disk: the difference to its base encoder, and its settings.

A directory with `config.json` (base, calibration, presets), `evidence.safetensors` and a card.
The difference of a matrix is stored as two factors of low rank (as in LoRA, Hu et al. 2021, but
by a singular value decomposition after training), or whole where that is smaller; all in float16.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from grasp_cli.models.locate import find
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, ProcessingError

KIND = "grasp-evidence"
FORMAT = 1
WEIGHTS, CONFIG = "evidence.safetensors", "config.json"
BASE_WEIGHTS = "model.safetensors"  # of the encoder
_FACTORS = (".a", ".b")


@dataclass(frozen=True)
class EvidenceConfig:
    """What a trained evidence model states about itself."""

    base: str  # the encoder, by name or path
    base_sha256: str  # of its model.safetensors
    weights_sha256: str
    features: list[float] = field(default_factory=list)  # weights of `record_features`
    bias: float = 0.0
    midpoint: float = 0.0  # the calibrated logit that becomes the score 0.5 in one sentence
    midpoint_slope: float = 0.0  # its change with the natural log of a record's sentences
    presets: dict[str, float] = field(default_factory=dict)  # thresholds on the score
    similarity_threshold: float = 0.45  # of the graph on this model's own sentence vectors
    model_type: str = KIND
    format: int = FORMAT


def is_evidence(directory: Path) -> bool:
    """Whether `directory` holds a trained evidence model."""
    path = directory / CONFIG
    return path.is_file() and orjson.loads(path.read_bytes()).get("model_type") == KIND


def encoder_of(name: str) -> str:
    """The encoder that the model called `name` is built on, or is itself."""
    path = find(name)
    return read_config(path).base if is_evidence(path) else name


def read_config(directory: Path) -> EvidenceConfig:
    """The settings of a trained evidence model.

    Raises `MissingError` where another version of grasp wrote them.
    """
    values = orjson.loads((directory / CONFIG).read_bytes())
    if values.get("format") != FORMAT:
        raise MissingError(
            f"{directory}: format {values.get('format')} of an evidence model, and this version of "
            f"grasp reads {FORMAT}: install the version that wrote it, or train it again with "
            "grasp train evidence"
        )
    try:
        return EvidenceConfig(**values)
    except TypeError as error:
        raise ProcessingError(
            f"{directory / CONFIG} is not what grasp train evidence wrote ({error}): train it again"
        ) from None


def write_config(config: EvidenceConfig, directory: Path) -> None:
    """Write `config.json`, whole or not at all."""
    part = directory / f"{CONFIG}.part"
    part.write_bytes(orjson.dumps(asdict(config), option=orjson.OPT_INDENT_2) + b"\n")
    os.replace(part, directory / CONFIG)


def compressed(base: dict[str, Any], tuned: dict[str, Any], rank: int | None) -> dict[str, Any]:
    """The difference of encoder parameters as float16 tensors.

    Parameters
    ----------
    base, tuned
        Parameters by name, before and after training.
    rank
        Of the two factors of a matrix (out, in): `NAME.a` (out, rank), `NAME.b` (rank, in). None
        stores differences whole.
    """
    torch = torch_runtime()
    found = {}
    for name, value in tuned.items():
        difference = value.double() - base[name].double()
        if (
            rank is None
            or difference.ndim < 2
            or rank * sum(difference.shape) >= difference.numel()
        ):
            found[name] = difference.half()
            continue
        left, size, right = torch.linalg.svd(difference, full_matrices=False)
        root = size[:rank].sqrt()
        found[name + ".a"] = (left[:, :rank] * root).half().contiguous()
        found[name + ".b"] = (root[:, None] * right[:rank]).half().contiguous()
    return found


def difference(values: dict[str, Any]) -> dict[str, Any]:
    """The differences that `compressed` stored, whole and in float32, by parameter."""
    whole = {name: value.float() for name, value in values.items() if not name.endswith(_FACTORS)}
    for name, left in values.items():
        if name.endswith(".a"):
            stem = name.removesuffix(".a")
            whole[stem] = left.float() @ values[stem + ".b"].float()
    return whole


def save_weights(
    directory: Path, encoder: dict[str, Any], head: dict[str, Any], projection: npt.NDArray[Any]
) -> None:
    """Write `evidence.safetensors`, whole or not at all.

    `encoder` as `compressed` gives it, `head` its parameters, `projection` (width, width).
    """
    from safetensors.torch import save

    torch = torch_runtime()
    values = {f"encoder.{name}": value for name, value in encoder.items()}
    values |= {f"head.{name}": value.half().contiguous() for name, value in head.items()}
    values["projection"] = torch.from_numpy(np.ascontiguousarray(projection)).half()
    part = directory / f"{WEIGHTS}.part"
    part.write_bytes(save(values, {"format": str(FORMAT)}))  # save_file is for its owner alone
    os.replace(part, directory / WEIGHTS)


def merge(network: Any, directory: Path) -> npt.NDArray[np.float32]:
    """Add the stored difference to a fresh network, and return the projection.

    Raises `ProcessingError` where names or shapes are those of another encoder.
    """
    from safetensors.torch import load_file

    torch = torch_runtime()
    values = load_file(str(directory / WEIGHTS))
    projection: npt.NDArray[np.float32] = values.pop("projection").float().numpy()
    head = {n.removeprefix("head."): v for n, v in values.items() if n.startswith("head.")}
    change = difference(
        {n.removeprefix("encoder."): v for n, v in values.items() if n.startswith("encoder.")}
    )
    own = dict(network.encoder.named_parameters())
    wrong = [n for n, v in change.items() if n not in own or own[n].shape != v.shape]
    if wrong:
        raise ProcessingError(
            f"{directory}: trained on another encoder than {network.base.name} ({wrong[0]}): "
            "train it again"
        )
    with torch.no_grad():
        for name, value in change.items():
            own[name].copy_(own[name].float() + value)
        for name, parameter in network.head.named_parameters():
            parameter.copy_(head[name].float())
    return projection
