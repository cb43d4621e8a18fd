"""Trained weights of trees on disk: a weight per layer and head, a difference to the encoder.

A directory with `config.json` (which encoder, by name, shape and checksum) and `tree.safetensors`:
`alpha`, shape (layers, heads), and where the encoder was trained too `encoder.NAME`, the
difference of each of its parameters (whole, or as factors `encoder.NAME.a` and `.b`).
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from grasp_cli.models.evidence_weights import difference
from grasp_cli.models.locate import sha256_of
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, ProcessingError

KIND = "grasp-tree"
FORMAT = 1
WEIGHTS, CONFIG = "tree.safetensors", "config.json"
_ENCODER = "encoder."


@dataclass(frozen=True)
class TreeConfig:
    """What trained weights state about the encoder that they belong to."""

    base: str  # the encoder, by name or path
    base_sha256: str  # of its weights
    layers: int
    heads: int
    hidden_size: int
    weights_sha256: str  # of tree.safetensors
    model_type: str = KIND
    format: int = FORMAT


class TreeWeights:
    """Trained weights in a directory.

    Raises `MissingError` where there are none or another version of grasp wrote them,
    `ProcessingError` where they are damaged.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @cached_property
    def config(self) -> TreeConfig:
        """What config.json says, once tree.safetensors has the checksum that stands there."""
        path = self.directory / CONFIG
        try:
            values = orjson.loads(path.read_bytes())
            kind, version = values["model_type"], values["format"]
        except (OSError, ValueError, KeyError, TypeError):
            kind = version = None
        if kind != KIND:
            raise MissingError(
                f"{self.directory}: no trained weights of trees here (no {CONFIG} of {KIND}); "
                "give the directory that grasp train sprout wrote"
            )
        if version != FORMAT:
            raise MissingError(
                f"{self.directory}: tree weights of format {version}, and this version of grasp "
                f"reads {FORMAT}: install the version that wrote them, or train them again"
            )
        weights = self.directory / WEIGHTS
        try:
            config = TreeConfig(**{field.name: values[field.name] for field in fields(TreeConfig)})
            whole = sha256_of([weights]) == config.weights_sha256
        except (OSError, KeyError):
            whole = False
        if not whole:
            raise ProcessingError(
                f"{weights}: missing or damaged; get or train these tree weights again"
            )
        return config

    @property
    def sha256(self) -> str:
        """Which weights these are."""
        return self.config.weights_sha256

    def refuse_other(self, name: str, sha256: str) -> None:
        """Raise `ProcessingError` where these are not of the encoder `name` with those weights."""
        config = self.config
        if sha256 != config.base_sha256:
            raise ProcessingError(
                f"{self.directory}: these tree weights were trained on {config.base} "
                f"({config.layers} layers of {config.heads} heads, width {config.hidden_size}) and "
                f"not on these weights of {name}; index with --dense-model {config.base}, or leave "
                "--tree-weights out"
            )

    def refuse_shape(self, name: str, config: Any) -> None:
        """Raise `ProcessingError` where an encoder with that transformers config does not fit."""
        stated = (self.config.layers, self.config.heads, self.config.hidden_size)
        held = (*self.alpha().shape, self.config.hidden_size)
        asked = (config.num_hidden_layers, config.num_attention_heads, config.hidden_size)
        for own in (stated, held):
            if own != asked:
                raise ProcessingError(
                    f"{self.directory}: these tree weights are for {self.config.base}, "
                    f"{_shape(own)}, and {name} has {_shape(asked)}; leave --tree-weights out, "
                    "or choose their encoder with --dense-model"
                )

    def alpha(self) -> Any:
        """One number per layer and head, float32, shape (layers, heads)."""
        return self._values["alpha"].float()

    @property
    def tunes_encoder(self) -> bool:
        """Whether the encoder was trained, too."""
        return any(name.startswith(_ENCODER) for name in self._values)

    def add_to(self, model: Any) -> None:
        """Add the difference to a transformers model's parameters.

        Raises `ProcessingError` where a name or a shape is that of another encoder.
        """
        own = dict(model.named_parameters())
        stored = {
            name.removeprefix(_ENCODER): value
            for name, value in self._values.items()
            if name.startswith(_ENCODER)
        }
        change = difference(stored)
        for name, value in change.items():
            if name not in own or own[name].shape != value.shape:
                raise ProcessingError(
                    f"{self.directory}: these tree weights change {name}, and the encoder has no "
                    f"such parameter of shape {tuple(value.shape)}: they are of another encoder "
                    f"than {self.config.base}"
                )
        with torch_runtime().no_grad():
            for name, value in change.items():
                own[name].copy_((own[name].float() + value).to(own[name].dtype))

    @cached_property
    def _values(self) -> dict[str, Any]:
        from safetensors.torch import load_file

        _ = self.config  # checks the file
        return dict(load_file(str(self.directory / WEIGHTS)))


def save_tree_weights(
    directory: Path, alpha: Any, encoder: dict[str, Any], base: str, base_sha256: str, config: Any
) -> TreeWeights:
    """Write weights to `directory`; config.json, which says that they are whole, comes last.

    Parameters
    ----------
    alpha : shape (layers, heads)
    encoder : differences of parameters as `evidence_weights.compressed` gives them; may be empty
    base, base_sha256 : name and checksum of the encoder
    config : its transformers config
    """
    from safetensors.torch import save

    directory.mkdir(parents=True, exist_ok=True)
    values = {"alpha": alpha.float().contiguous()}
    values |= {_ENCODER + name: value for name, value in encoder.items()}
    _write(directory / WEIGHTS, save(values, {"format": str(FORMAT)}))
    stated = TreeConfig(
        base,
        base_sha256,
        int(config.num_hidden_layers),
        int(config.num_attention_heads),
        int(config.hidden_size),
        sha256_of([directory / WEIGHTS]),
    )
    said = orjson.dumps(asdict(stated), option=orjson.OPT_INDENT_2) + b"\n"
    _write(directory / CONFIG, said)
    return TreeWeights(directory)


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)


def _shape(shape: tuple[int, ...]) -> str:
    layers, heads, width = shape
    return f"{layers} layers of {heads} heads, width {width}"
