"""A compressor from what was asked for: the stage with its method, models and token counter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from grasp_cli.compression.methods import (
    CLASSIFIERS,
    COMPRESSORS,
    WITHOUT_MODELS,
    Encoders,
    Models,
    build,
    needed,
    needed_roles,
    number_format,
    settled,
)
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import (
    CAUSAL,
    COMPRESS,
    PROFILE,
    TEXT,
    CausalDefaults,
    CompressDefaults,
    compress_settings,
)
from grasp_cli.models.locate import find, find_all
from grasp_cli.models.profiles import model_for
from grasp_cli.pipe.errors import UsageError
from grasp_cli.text.tokens import TokenCounter


@dataclass(frozen=True)
class Asked:
    """What is asked of a compressor besides the settings of its method; None is the default."""

    profile: str = PROFILE
    preset: str = COMPRESS.preset
    fine_threshold: float | None = None
    similarity_threshold: float | None = None
    coarse_model: str | None = None
    embedder: str | None = None
    classifier: str | None = None
    compressor: str | None = None
    tokenizer: str | None = None
    splitter: str = TEXT.splitter
    dtype: str = "auto"
    causal: CausalDefaults = CAUSAL
    threads: int | None = None
    quiet: bool = False


class Shared:
    """The encoders of several compressors in one process: those of one format load once."""

    def __init__(self) -> None:
        self._encoders: dict[tuple[str, int | None], Encoders] = {}

    def encoders(self, models: Models) -> Encoders:
        """The encoders in the number format of `models`."""
        return self._encoders.setdefault((models.dtype, models.threads), Encoders(models))

    def forget(self) -> None:
        """Compute again what one compressor computed, so that each pays for its own work."""
        for encoders in self._encoders.values():
            encoders.forget()


def asked_of(choices: Mapping[str, Any]) -> tuple[CompressDefaults, Asked]:
    """Settings and the rest, from the options of `grasp compress` by parameter name."""
    own = {field.name for field in fields(CompressDefaults)} - {"method", *_SETTLED}
    settings = {name: value for name, value in choices.items() if name in own}
    causal = {field.name for field in fields(CausalDefaults)}
    asked = {field.name for field in fields(Asked)}
    return compress_settings(choices["method"], **settings), Asked(
        causal=CausalDefaults(**{name: choices[name] for name in causal if name in choices}),
        **{name: value for name, value in choices.items() if name in asked},
    )


_SETTLED = ("fine_threshold", "similarity_threshold")  # a trained model may state its own


def compressor(options: CompressDefaults, asked: Asked, shared: Shared | None = None) -> Compress:
    """The stage of one method, its models found but not loaded.

    Raises `MissingError` for models that are not on this machine, all of them at once, and
    `UsageError` for settings that contradict each other.
    """
    _refuse_contradictions(options)
    models = _models(options, asked)
    counted_by = asked.tokenizer or asked.classifier or model_for(asked.profile, "classifier")
    find_all([*needed(options, models), counted_by])
    options = settled(
        options, models, asked.preset, asked.fine_threshold, asked.similarity_threshold
    )
    encoders = (shared or Shared()).encoders(models)
    return Compress(
        build(options, models, encoders),
        encoders.get(models.embedder) if options.redundancy else None,
        _counter(counted_by),
        options,
        Setting(asked.profile, number_format(options, models), asked.splitter),
    )


def model_names(options: CompressDefaults, asked: Asked) -> dict[str, str]:
    """The models that a compressor reads, name or path by role."""
    models = _models(options, asked)
    return {role: getattr(models, role) for role in needed_roles(options)}


def _refuse_contradictions(options: CompressDefaults) -> None:
    most = options.max_tokens or COMPRESS.adaptive_max_tokens
    if options.budget == "adaptive" and options.min_tokens > most:
        raise UsageError(f"--min-tokens {options.min_tokens} is more than --max-tokens {most}")


def _models(options: CompressDefaults, asked: Asked) -> Models:
    from grasp_cli.models.evidence_weights import is_evidence

    given, profile = asked.classifier, asked.profile
    trained = given if given and is_evidence(find(given)) else None  # all from it
    return Models(
        coarse=asked.coarse_model or trained or model_for(profile, "coarse"),
        embedder=asked.embedder or trained or model_for(profile, "embedder"),
        classifier=given or CLASSIFIERS.get(options.method) or model_for(profile, "classifier"),
        compressor=asked.compressor or COMPRESSORS.get(options.method, ""),
        dtype=_encoder_dtype(options.method, asked.dtype),
        threads=asked.threads,
        causal_dtype=asked.dtype,
        causal=asked.causal,
        quiet=asked.quiet,
    )


def _counter(name: str) -> TokenCounter:
    from grasp_cli.models.causal import tokenizer_directory
    from grasp_cli.models.evidence_weights import encoder_of

    counter = encoder_of(name)
    return TokenCounter(tokenizer_directory(find(counter)), Path(counter).name)


def _encoder_dtype(method: str, asked: str) -> str:
    """The dtype's name; methods without a model do not import torch to learn it."""
    if method in WITHOUT_MODELS:
        return "float32"
    from grasp_cli.models.dtype import choose_dtype

    return str(choose_dtype(asked, "cpu")).removeprefix("torch.")
