"""Compression methods by name, built from the options of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grasp_cli.compression.baselines.registry import BASELINES
from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CAUSAL, COMPRESS, CausalDefaults, CompressDefaults
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.log import LOG

if TYPE_CHECKING:
    from grasp_cli.compression.classifiers import SpanClassifier
    from grasp_cli.compression.cross_encoder import CrossEncoderClassifier
    from grasp_cli.compression.evidence_head import EvidenceHead
    from grasp_cli.compression.grasp import CoarseFilter, SentenceVectors
    from grasp_cli.models.causal import CausalModel
    from grasp_cli.models.evidence_weights import EvidenceConfig
    from grasp_cli.models.placement import Placement

BORDERLINE = {"float32": 0.001, "bfloat16": 0.03, "float16": 0.03}
_REMEMBERED = 16384  # embeddings kept: units of one sentence and repeated passages come again


@dataclass(frozen=True)
class Models:
    """Names or paths of the models of a run, and how they are to be run."""

    coarse: str
    embedder: str
    classifier: str
    compressor: str = ""  # of a published baseline
    dtype: str = "float32"
    threads: int | None = None
    causal_dtype: str = "auto"  # of a causal classifier, as asked for
    causal: CausalDefaults = CAUSAL
    quiet: bool = False

    def placement(self) -> Placement:
        """Where models other than the encoders run, and in which number format."""
        from grasp_cli.models.placement import place

        return place(self.causal.device, self.causal_dtype)


class Encoders:
    """The encoders of a run; parts that name the same model share one."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._loaded: dict[Path, Encoder] = {}
        self._evidence: dict[Path, EvidenceHead] = {}

    def evidence(self, name: str) -> EvidenceHead | None:
        """The trained evidence model called `name`, None where that is another kind of model."""
        from grasp_cli.models.evidence_weights import is_evidence

        path = find(name)
        if not is_evidence(path):
            return None
        if path not in self._evidence:
            from grasp_cli.compression.evidence_head import EvidenceHead

            self._evidence[path] = EvidenceHead(
                path, dtype=self._models.dtype, threads=self._models.threads
            )
        return self._evidence[path]

    def get(self, name: str) -> Encoder:
        """The encoder called `name`, found (exit 3 where missing) but not yet loaded.

        Of an evidence model it is the base.
        """
        from grasp_cli.models.evidence_weights import encoder_of

        path = find(encoder_of(name))
        if path not in self._loaded:
            self._loaded[path] = Encoder(
                path,
                threads=self._models.threads,
                dtype=self._models.dtype,
                remember=_REMEMBERED,
            )
        return self._loaded[path]

    def forget(self) -> None:
        """Compute again what was computed so far."""
        for encoder in self._loaded.values():
            encoder.forget()
        for evidence in self._evidence.values():
            evidence.forget()


def build(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    """The method that the options name."""
    if options.method not in METHODS:
        raise UsageError(f"there is no method {options.method!r}: choose {', '.join(METHODS)}")
    return METHODS[options.method](options, models, encoders)


def settled(
    options: CompressDefaults,
    models: Models,
    preset: str,
    fine_threshold: float | None,
    similarity_threshold: float | None,
) -> CompressDefaults:
    """The options with the thresholds that were not given: a trained model states its own.

    Raises `UsageError` for a preset other than balanced where the classifier has none.
    """
    from grasp_cli.models.evidence_weights import is_evidence, read_config

    def trained(name: str) -> EvidenceConfig | None:
        return read_config(find(name)) if is_evidence(find(name)) else None

    if fine_threshold is None:
        fine_threshold = options.fine_threshold
        judged = options.method == "exit" or (options.method == "grasp" and options.fine)
        own = trained(models.classifier) if judged else None
        if own:
            fine_threshold = own.presets[preset]
        elif preset != COMPRESS.preset:
            raise UsageError(
                f"--preset {preset} needs a trained evidence classifier "
                "(method grasp or exit): give --fine-threshold instead"
            )
    if similarity_threshold is None:
        drawn = trained(models.embedder) if options.method == "grasp" and options.fine else None
        similarity_threshold = (
            drawn.similarity_threshold if drawn else COMPRESS.similarity_threshold
        )
    return replace(
        options, fine_threshold=fine_threshold, similarity_threshold=similarity_threshold
    )


def needed(options: CompressDefaults, models: Models) -> list[str]:
    """The models that a run reads, by name or path."""
    return [getattr(models, role) for role in needed_roles(options)]


def needed_roles(options: CompressDefaults) -> list[str]:
    """The roles (fields of `Models`) of the models that a run reads."""
    roles = list(_ROLES[options.method])
    if options.method == "grasp":
        roles = ["coarse"] * options.coarse + ["embedder", "classifier"] * options.fine
    if options.redundancy:
        roles.append("embedder")
    return roles


def _grasp(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.grasp import Grasp

    return Grasp(
        _coarse_filter(options, models, encoders) if options.coarse else None,
        _graph(models, encoders) if options.fine else None,
        _classifier(models, encoders) if options.fine else None,
        options,
        BORDERLINE[number_format(options, models)],
    )


def _exit(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.exit import Exit

    borderline = BORDERLINE[number_format(options, models)]
    return Exit(_classifier(models, encoders), options, borderline)


def _quitox(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.sentence_filter import SentenceFilter

    return SentenceFilter("quitox", _coarse_filter(options, models, encoders), options)


def _cosine(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.compression.exit import Exit

    classifier = CosineClassifier(encoders.get(models.embedder))
    return Exit(classifier, options, BORDERLINE[models.dtype], "cosine")


def _cross_encoder(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.exit import Exit

    classifier = cross_encoder_classifier(models, models.classifier)
    return Exit(classifier, options, BORDERLINE[models.placement().dtype], "cross-encoder")


def _attention(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.last_attention import LastAttention
    from grasp_cli.compression.sentence_filter import SentenceFilter

    model = causal_model(models, models.classifier)
    scorer = LastAttention(model, models.causal.max_input_tokens)
    return SentenceFilter("attention", scorer, options)


def _coarse_filter(options: CompressDefaults, models: Models, encoders: Encoders) -> CoarseFilter:
    """QUITO-X on an encoder-decoder, its stand-in on an encoder: as the model's config says."""
    from grasp_cli.models.seq2seq import Seq2Seq, is_seq2seq

    if trained := encoders.evidence(models.coarse):
        return trained
    path = find(models.coarse)
    if is_seq2seq(path):
        from grasp_cli.compression.cross_attention import CrossAttention

        placement = said(models, models.coarse)
        model = Seq2Seq(
            path, threads=models.threads, dtype=placement.dtype, device=placement.device
        )
        return CrossAttention(model, options)
    from grasp_cli.compression.token_relevance import TokenRelevance

    return TokenRelevance(encoders.get(models.coarse), options)


def said(models: Models, name: str) -> Placement:
    """Where the model runs; said on stderr, as a causal model says it of itself."""
    placement = models.placement()
    if not models.quiet:
        LOG.say(f"{Path(name).name} on {placement}")
    return placement


def cross_encoder_classifier(models: Models, name: str) -> CrossEncoderClassifier:
    """The cross-encoder called `name`, as the options place it."""
    from grasp_cli.compression.cross_encoder import CrossEncoderClassifier
    from grasp_cli.models.cross_encoder import CrossEncoder

    placement = said(models, name)
    model = CrossEncoder(
        find(name), threads=models.threads, dtype=placement.dtype, device=placement.device
    )
    return CrossEncoderClassifier(model)


def _graph(models: Models, encoders: Encoders) -> SentenceVectors:
    """The evidence model's own sentence vectors, or each sentence through an encoder."""
    from grasp_cli.compression.sentence_vectors import EncoderVectors

    trained = encoders.evidence(models.embedder)
    return trained or EncoderVectors(encoders.get(models.embedder))


def _ragcompress_on_an_encoder(options: CompressDefaults, models: Models) -> bool:
    from grasp_cli.models.cross_encoder import is_cross_encoder

    return options.method == "ragcompress" and not is_cross_encoder(find(models.compressor))


def number_format(options: CompressDefaults, models: Models) -> str:
    """The dtype of the scores that decide: the classifier's where that is a causal model."""
    from grasp_cli.models.causal import is_causal
    from grasp_cli.models.seq2seq import is_seq2seq

    judges = options.method == "exit" or (options.method == "grasp" and options.fine)
    filters = options.method == "quitox" or (options.method == "grasp" and not options.fine)
    placed = (
        (options.method in _PLACED and not _ragcompress_on_an_encoder(options, models))
        or (judges and is_causal(find(models.classifier)))
        or (filters and options.coarse and is_seq2seq(find(models.coarse)))
    )
    return models.placement().dtype if placed else models.dtype


def _classifier(models: Models, encoders: Encoders) -> SpanClassifier:
    """The trained one, EP-EXIT's on a causal model or an adapter of one, or the cosine."""
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.models.causal import is_causal

    if is_causal(find(models.classifier)):
        from grasp_cli.compression.causal_classifier import CausalClassifier

        given = models.causal
        return CausalClassifier(
            causal_model(models, models.classifier),
            scope=given.context_scope,
            max_input_tokens=given.max_input_tokens,
            verify=given.verify_prefix,
        )
    trained = encoders.evidence(models.classifier)
    return trained or CosineClassifier(encoders.get(models.classifier))


def causal_model(models: Models, name: str) -> CausalModel:
    """The causal model called `name`, as the options place it."""
    from grasp_cli.models.causal import CausalModel, Running

    given = models.causal
    running = Running(
        given.device, models.causal_dtype, given.quantize, models.threads, models.quiet
    )
    return CausalModel(find(name), running, Path(name).name)


METHODS: dict[str, Callable[[CompressDefaults, Models, Encoders], Method]] = {
    "grasp": _grasp,
    "exit": _exit,
    "quitox": _quitox,
    "cosine": _cosine,
    "cross-encoder": _cross_encoder,
    "attention": _attention,
    **{name: baseline.build for name, baseline in BASELINES.items()},
}
# Which models a method reads; `grasp` reads what its steps need.
_ROLES: dict[str, tuple[str, ...]] = {
    "grasp": (),
    "exit": ("classifier",),
    "quitox": ("coarse",),
    "cosine": ("embedder",),
    "cross-encoder": ("classifier",),
    "attention": ("classifier",),
    **{name: baseline.roles for name, baseline in BASELINES.items()},
}
# What `--classifier` is where a method needs another kind of model than the profile's.
CLASSIFIERS = {
    "cross-encoder": "cross-encoder/ms-marco-MiniLM-L-6-v2",
    "attention": "gemma-3-270m",
}
# What `--compressor` is: the model that a baseline was published with.
COMPRESSORS = {name: baseline.compressor for name, baseline in BASELINES.items()}
_PLACED = {"cross-encoder", "attention"} | {n for n, one in BASELINES.items() if one.placed}
WITHOUT_MODELS = tuple(name for name in METHODS if not _ROLES[name] and name != "grasp")
