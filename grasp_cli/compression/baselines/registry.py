"""The baselines by name: how each is built, and which models it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CompressDefaults

if TYPE_CHECKING:
    from grasp_cli.compression.classifiers import SpanClassifier
    from grasp_cli.compression.methods import Encoders, Models
    from grasp_cli.models.token_classifier import TokenClassifier
    from grasp_cli.models.writing import CausalWriter


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
    from grasp_cli.compression.classifiers import CosineClassifier
    from grasp_cli.compression.methods import BORDERLINE, cross_encoder_classifier
    from grasp_cli.models.cross_encoder import is_cross_encoder
    from grasp_cli.models.locate import find

    if is_cross_encoder(find(models.compressor)):
        judge: SpanClassifier = cross_encoder_classifier(models, models.compressor)
        return ragcompress(judge, options, BORDERLINE[models.placement().dtype])
    trained = encoders.evidence(models.compressor)
    judge = trained or CosineClassifier(encoders.get(models.compressor))
    return ragcompress(judge, options, BORDERLINE[models.dtype])


def _llmlingua2(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.llmlingua2 import LLMLingua2

    return LLMLingua2(_token_classifier(models), options)


def _provence(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.provence import ProvenceClassifier
    from grasp_cli.compression.exit import Exit
    from grasp_cli.compression.methods import BORDERLINE

    classifier = ProvenceClassifier(_token_classifier(models))
    return Exit(classifier, options, BORDERLINE[models.placement().dtype], "provence")


def _longllmlingua(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.longllmlingua import LongLLMLingua
    from grasp_cli.compression.methods import causal_model

    return LongLLMLingua(causal_model(models, models.compressor), options)


def _recomp_abstractive(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.recomp_abstractive import RecompAbstractive
    from grasp_cli.compression.methods import said
    from grasp_cli.models.locate import find
    from grasp_cli.models.writing import Seq2SeqWriter

    placement = said(models, models.compressor)
    writer = Seq2SeqWriter(
        find(models.compressor),
        threads=models.threads,
        dtype=placement.dtype,
        device=placement.device,
    )
    return RecompAbstractive(writer)


def _compact(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.compact import CompAct, Instructions

    return CompAct(_causal_writer(models), Instructions.of(options.instruction))


def _refiner(options: CompressDefaults, models: Models, encoders: Encoders) -> Method:
    from grasp_cli.compression.baselines.refiner import Refiner

    return Refiner(_causal_writer(models))


def _causal_writer(models: Models) -> CausalWriter:
    from grasp_cli.compression.methods import causal_model
    from grasp_cli.models.writing import CausalWriter

    return CausalWriter(causal_model(models, models.compressor))


def _token_classifier(models: Models) -> TokenClassifier:
    from grasp_cli.compression.methods import said
    from grasp_cli.models.locate import find
    from grasp_cli.models.token_classifier import TokenClassifier

    placement = said(models, models.compressor)
    return TokenClassifier(
        find(models.compressor),
        threads=models.threads,
        dtype=placement.dtype,
        device=placement.device,
    )


_MS_MARCO = "cross-encoder/ms-marco-MiniLM-L-6-v2"
_LLMLINGUA2 = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"

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
    "llmlingua2": Baseline(_llmlingua2, ("compressor",), _LLMLINGUA2, placed=True),
    "provence": Baseline(
        _provence, ("compressor",), "naver/provence-reranker-debertav3-v1", placed=True
    ),
    "longllmlingua": Baseline(
        _longllmlingua, ("compressor",), "NousResearch/Llama-2-7b-hf", placed=True
    ),
    "recomp-abstractive": Baseline(
        _recomp_abstractive, ("compressor",), "fangyuan/nq_abstractive_compressor", placed=True
    ),
    "compact": Baseline(_compact, ("compressor",), "cwyoon99/CompAct-7b", placed=True),
    "refiner": Baseline(_refiner, ("compressor",), "al1231/Refiner-7B", placed=True),
}
