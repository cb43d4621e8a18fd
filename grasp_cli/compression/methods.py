"""Compression methods by name, built from the options of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CAUSAL, CausalDefaults, CompressDefaults
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import UsageError

if TYPE_CHECKING:
    from grasp_cli.compression.classifiers import SpanClassifier
    from grasp_cli.compression.grasp import CoarseFilter

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
    causal_dtype: str = "auto"  # of a causal classifier, as asked for
    causal: CausalDefaults = CAUSAL
    quiet: bool = False


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


def needed(options: CompressDefaults, models: Models) -> list[str]:
    """The models that a run reads, by name or path."""
    roles = list(_ROLES[options.method])
    if options.method == "grasp":
        roles = ["coarse"] * options.coarse + ["embedder", "classifier"] * options.fine
    if options.redundancy:
        roles.append("embedder")
    return [getattr(models, role) for role in roles]


def _grasp(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.grasp import Grasp

    return Grasp(
        _coarse_filter(options, models, encoders) if options.coarse else None,
        encoders.get(models.embedder) if options.fine else None,
        _classifier(models, encoders) if options.fine else None,
        options,
        BORDERLINE[number_format(options, models)],
    )


def _exit(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.exit import Exit

    borderline = BORDERLINE[number_format(options, models)]
    return Exit(_classifier(models, encoders), options, borderline)


def _coarse_filter(options: CompressDefaults, models: Models, encoders: Encoders) -> CoarseFilter:
    """QUITO-X on an encoder-decoder, its stand-in on an encoder: as the model's config says."""
    from grasp_cli.models.seq2seq import Seq2Seq, is_seq2seq

    path = find(models.coarse)
    if is_seq2seq(path):
        from grasp_cli.compression.cross_attention import CrossAttention

        return CrossAttention(Seq2Seq(path, threads=models.threads, dtype=models.dtype), options)
    from grasp_cli.compression.token_relevance import TokenRelevance

    return TokenRelevance(encoders.get(models.coarse), options)


def number_format(options: CompressDefaults, models: Models) -> str:
    """The dtype of the scores that decide: the classifier's where that is a causal model."""
    from grasp_cli.models.causal import is_causal
    from grasp_cli.models.placement import place

    judges = options.method in _JUDGED and (options.fine or options.method != "grasp")
    if judges and is_causal(find(models.classifier)):
        return place(models.causal.device, models.causal_dtype).dtype
    return models.dtype


def _classifier(models: Models, encoders: Encoders) -> SpanClassifier:
    """EP-EXIT's on a causal model or an adapter of one, the cosine on an encoder."""
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.models.causal import CausalModel, Running, is_causal

    path = find(models.classifier)
    if is_causal(path):
        from grasp_cli.compression.causal_classifier import CausalClassifier

        given = models.causal
        running = Running(
            given.device, models.causal_dtype, given.quantize, models.threads, models.quiet
        )
        return CausalClassifier(
            CausalModel(path, running),
            scope=given.context_scope,
            max_input_tokens=given.max_input_tokens,
            verify=given.verify_prefix,
        )
    return CosineClassifier(encoders.get(models.classifier))


def _none(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines import Everything

    return Everything()


def _lead(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines import Lead

    return Lead(options)


METHODS: dict[str, Callable[[CompressDefaults, Models, Encoders], Method]] = {
    "grasp": _grasp,
    "exit": _exit,
    "none": _none,
    "lead": _lead,
}
# Which models a method reads; `grasp` reads what its steps need.
_ROLES: dict[str, tuple[str, ...]] = {"grasp": (), "exit": ("classifier",), "none": (), "lead": ()}
_JUDGED = ("grasp", "exit")  # by a span classifier
WITHOUT_MODELS = ("none", "lead")
