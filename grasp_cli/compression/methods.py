"""Compression methods by name, built from the options of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import UsageError

BORDERLINE = {"float32": 0.001, "bfloat16": 0.03, "float16": 0.03}
_REMEMBERED = 16384  # embeddings kept: units of one sentence and repeated passages come again


@dataclass(frozen=True)
class Models:
    """Names or paths of the models of a run, and how they are to be run."""

    coarse: str
    embedder: str
    classifier: str
    dtype: str = "float32"
    threads: int | None = None


class Encoders:
    """The encoders of a run; parts that name the same model share one."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._loaded: dict[Path, Encoder] = {}

    def get(self, name: str) -> Encoder:
        """The encoder called `name`, found (exit 3 where missing) but not yet loaded."""
        path = find(name)
        if path not in self._loaded:
            self._loaded[path] = Encoder(
                path,
                threads=self._models.threads,
                dtype=self._models.dtype,
                remember=_REMEMBERED,
            )
        return self._loaded[path]


def build(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    """The method that the options name."""
    if options.method not in METHODS:
        raise UsageError(f"there is no method {options.method!r}: choose {', '.join(METHODS)}")
    return METHODS[options.method](options, models, encoders)


def _grasp(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.compression.grasp import Grasp
    from grasp_cli.compression.token_relevance import TokenRelevance

    return Grasp(
        TokenRelevance(encoders.get(models.coarse), options),
        encoders.get(models.embedder),
        CosineClassifier(encoders.get(models.classifier)),
        options,
        BORDERLINE[models.dtype],
    )


def _none(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines import Everything

    return Everything()


def _lead(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines import Lead

    return Lead(options)


METHODS: dict[str, Callable[[CompressDefaults, Models, Encoders], Method]] = {
    "grasp": _grasp,
    "none": _none,
    "lead": _lead,
}
WITHOUT_MODELS = ("none", "lead")
