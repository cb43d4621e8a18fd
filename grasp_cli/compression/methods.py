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


def build(name: str, options: CompressDefaults, models: Models) -> Method:
    """The method called `name`; models are found (exit 3 where missing) but not yet loaded."""
    if name not in METHODS:
        raise UsageError(f"there is no method {name!r}: choose {', '.join(METHODS)}")
    return METHODS[name](options, models)


def _grasp(options: CompressDefaults, models: Models) -> Method:
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.compression.grasp import Grasp
    from grasp_cli.compression.token_relevance import TokenRelevance

    encoders: dict[Path, Encoder] = {}

    def encoder(name: str) -> Encoder:
        path = find(name)
        if path not in encoders:
            encoders[path] = Encoder(
                path, threads=models.threads, dtype=models.dtype, remember=_REMEMBERED
            )
        return encoders[path]

    coarse = TokenRelevance(encoder(models.coarse), options)
    classifier = CosineClassifier(encoder(models.classifier))
    return Grasp(coarse, encoder(models.embedder), classifier, options, BORDERLINE[models.dtype])


def _none(options: CompressDefaults, models: Models) -> Method:
    from grasp_cli.compression.baselines import Everything

    return Everything()


def _lead(options: CompressDefaults, models: Models) -> Method:
    from grasp_cli.compression.baselines import Lead

    return Lead(options)


METHODS: dict[str, Callable[[CompressDefaults, Models], Method]] = {
    "grasp": _grasp,
    "none": _none,
    "lead": _lead,
}
WITHOUT_MODELS = ("none", "lead")
