"""The baselines by name: how each is built, and which models it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CompressDefaults

if TYPE_CHECKING:
    from grasp_cli.compression.methods import Encoders, Models


class Baseline(NamedTuple):
    """One baseline."""

    build: Callable[[CompressDefaults, Models, Encoders], Method]
    roles: tuple[str, ...] = ()  # fields of `Models` that it reads
    compressor: str = ""  # the published model, where --compressor names no other
    placed: bool = False  # whether it runs where --device says


def _none(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.none import Everything

    return Everything()


def _lead(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.lead import Lead

    return Lead(options)


def _truncate(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.truncate import Truncate

    return Truncate()


def _random(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.random import RandomSentences

    return RandomSentences(options)


def _top_k_passages(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.top_k_passages import TopKPassages

    return TopKPassages(options)


def _oracle(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.oracle import Oracle

    return Oracle()


def _embeddings_filter(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.embeddings_filter import EmbeddingsFilter
    from grasp_cli.compression.methods import BORDERLINE

    return EmbeddingsFilter(encoders.get(models.embedder), options, BORDERLINE[models.dtype])


def _recomp_extractive(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.recomp_extractive import RecompExtractive

    return RecompExtractive(encoders.get(models.compressor), options)


def _ragcompress(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.ragcompress import ragcompress
    from grasp_cli.compression.methods import BORDERLINE, cross_encoder_classifier

    placement = models.placement()
    classifier = cross_encoder_classifier(models, models.compressor)
    return ragcompress(classifier, options, BORDERLINE[placement.dtype])


_MS_MARCO = "cross-encoder/ms-marco-MiniLM-L-6-v2"

BASELINES: dict[str, Baseline] = {
    "none": Baseline(_none),
    "lead": Baseline(_lead),
    "truncate": Baseline(_truncate),
    "random": Baseline(_random),
    "top-k-passages": Baseline(_top_k_passages),
    "oracle": Baseline(_oracle),
    "embeddings-filter": Baseline(_embeddings_filter, ("embedder",)),
    "recomp-extractive": Baseline(
        _recomp_extractive, ("compressor",), "fangyuan/nq_extractive_compressor"
    ),
    "ragcompress": Baseline(_ragcompress, ("compressor",), _MS_MARCO, placed=True),
}
