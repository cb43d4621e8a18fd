"""Every default, once. Help texts, documentation and code read them here.

Names follow the papers: GRASP (hybrid retrieval, QUITO-X, EP-EXIT), EXIT, ragcompress.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class InputDefaults:
    """What every verb that reads takes."""

    max_line_mb: int = 64


@dataclass(frozen=True)
class ProgressDefaults:
    """How a run tells how far it is."""

    seconds: float = 30.0  # between two plain lines
    redraw: float = 0.2  # seconds between two drawings of a bar


@dataclass(frozen=True)
class TextDefaults:
    """Sentences."""

    splitter: str = "rule"


@dataclass(frozen=True)
class IndexDefaults:
    """`grasp index`."""

    directory: str = "grasp_index"
    passage_words: int = 150
    passage_overlap: int = 0  # sentences
    index_title: bool = True
    bm25_k1: float = 1.5
    bm25_b: float = 0.75
    stop_words: str = "none"
    stem: str = "none"
    dtype: str = "auto"  # of the encoder
    dense_dtype: str = "float32"  # of the stored vectors
    ann: str = "none"
    window: int = 1024


@dataclass(frozen=True)
class RetrieveDefaults:
    """`grasp retrieve`."""

    top_k: int = 5
    rrf_k: int = 10
    depth: int = 100  # the pool that is fused is max(depth, 10 k) where nothing else is asked for
    mode: str = "hybrid"
    fusion: str = "rrf"
    fusion_weight: float = 0.5  # of the dense scores, where fusion is "weighted"
    rerank_depth: int = 50  # what a cross-encoder reads
    window: int = 64


@dataclass(frozen=True)
class TreeDefaults:
    """Trees: `grasp index --with-tree`, `grasp retrieve --mode tree`."""

    kind: str = "embedding"  # "attention" where trained weights are given
    merge: str = "mean-of-two"
    chunk_sentences: int = 2
    window_overlap: float = 0.25  # share of a window that the next one repeats
    documents: int = 50  # whose trees are searched; 0: all
    pool: str = "flat"
    beam: int = 5
    nested: str = "drop"


@dataclass(frozen=True)
class CompressDefaults:
    """`grasp compress`; GRASP's published settings."""

    method: str = "grasp"
    coarse: bool = True
    fine: bool = True
    coarse_ratio: float = 0.8
    quitox_min_keep: int = 2
    gaussian_sigma: float = 2.0
    similarity_threshold: float = 0.45
    locality_window: int = 2
    fine_threshold: float = 0.5
    preset: str = "balanced"
    hops: int = 1
    on_empty: str = "keep-best"
    lead_sentences: int = 1
    max_tokens: int | None = None
    max_tokens_per_doc: int | None = None
    top_k_spans: int | None = None
    rate: float | None = None  # share of the tokens that stays
    unit: str = "document"  # or "sentence": what methods that choose by similarity keep or drop
    seed: int = 0
    instruction: str | None = None  # a file, of method compact
    budget: str = "threshold"  # or "adaptive"
    min_tokens: int = 64  # of the adaptive budget, as are the next two
    adaptive_max_tokens: int = 1024  # where max_tokens is not given
    adaptive_gap: float = 0.25  # of normalised scores
    markers: bool = False
    gap: str = " "
    redundancy: bool = False
    redundancy_threshold: float = 0.9
    mmr_lambda: float = 0.7
    explain: bool = False
    window: int = 32


# Settings of methods that differ from the general ones, as published or usual for them.
PUBLISHED: dict[str, dict[str, Any]] = {
    "truncate": {"rate": 0.2},
    "random": {"rate": 0.2},
    "top-k-passages": {"top_k_spans": 2},
    "embeddings-filter": {"top_k_spans": 20},
    "recomp-extractive": {"top_k_spans": 2},
    "ragcompress": {"redundancy": True, "budget": "adaptive"},
    "llmlingua2": {"rate": 0.2},
    "longllmlingua": {"rate": 0.2},
    "provence": {"fine_threshold": 0.1},
}


def compress_settings(method: str, **given: Any) -> CompressDefaults:
    """The settings of a method: those `given` (not None), else its own, else the general ones.

    A token budget that was given stands in for the method's own rate.
    """
    own = dict(PUBLISHED.get(method, {}))
    if given.get("max_tokens") is not None:
        own.pop("rate", None)
    asked = {name: value for name, value in given.items() if value is not None}
    return replace(CompressDefaults(method=method), **{**own, **asked})


@dataclass(frozen=True)
class CausalDefaults:
    """Causal models as classifiers (`grasp compress`)."""

    device: str = "auto"
    quantize: str = "none"
    context_scope: str = "document"
    max_input_tokens: int | None = None  # None: what the model can hold
    verify_prefix: int = 0


@dataclass(frozen=True)
class AnswerDefaults:
    """`grasp answer`."""

    reader: str = "transformers"
    prompt: str = "strict"
    max_new_tokens: int = 32  # for strict answers
    natural_max_new_tokens: int = 128
    concurrency: int = 4
    connect_timeout: float = 5.0  # seconds, as all times here
    read_timeout: float = 120.0
    retries: int = 4
    first_wait: float = 0.5  # before the first retry; it doubles with each
    max_wait: float = 60.0
    give_up_after: int = 5  # failed questions in a row
    ollama_url: str = "http://127.0.0.1:11434"
    openai_url: str = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True)
class EvaluateDefaults:
    """`grasp evaluate`."""

    format: str = "table"
    quality: str = "f1"  # of sentences and plots
    questions: int = 200  # in a page
    window: int = 256
    cutoffs: tuple[int, ...] = (5, 20)  # of recall and hit rate
    unit_cutoffs: tuple[int, ...] = (1, 3, 5)  # chunks that evidence is looked for in
    level: float = 0.95  # of bootstrap intervals
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True)
class ValidateDefaults:
    """`grasp validate`."""

    first: int = 10  # faults that are printed


@dataclass(frozen=True)
class DoctorDefaults:
    """`grasp doctor`."""

    server_seconds: float = 2.0  # that a server may take to say what it holds
    free_megabytes: int = 1000  # less is worth a word


@dataclass(frozen=True)
class ExperimentDefaults:
    """`grasp experiment`; the published setting."""

    retrieve: int = 30  # passages that are retrieved for a question
    top_k: int = 5  # of these, how many are compressed
    output: str = "{stem}_results"  # of the file that states the experiment


@dataclass(frozen=True)
class JobDefaults:
    """Runs over many records."""

    grace: float = 5.0  # seconds that a batch may take to finish after SIGINT or SIGTERM
    rate_from: int = 100  # records from which on --max-errors N% is looked at under way


@dataclass(frozen=True)
class TrainDefaults:
    """What all of `grasp train` has."""

    epochs: int = 3
    encoder_rate: float = 1.5e-4
    head_rate: float = 1e-3
    warm_up: float = 0.06  # share of the steps
    weight_decay: float = 0.01
    negatives: int = 2  # passages of other records beside one of its own
    held_back: float = 0.15  # share of each file that is not trained on
    held_back_most: int = 100  # of one file
    evaluations: int = 3  # per epoch
    patience: int = 4  # evaluations without a better one; 0 never stops early
    checkpoint_steps: int = 200
    rank: int = 128  # of the stored differences of matrices; 0 stores them whole
    base: str = "all-MiniLM-L6-v2"
    seed: int = 0
    dtype: str = "auto"


@dataclass(frozen=True)
class TrainEvidenceDefaults(TrainDefaults):
    """`grasp train evidence`."""

    batch_tokens: int = 4500  # of a step, about 32 passages
    positive_weight: float = 3.0  # of a gold sentence in the loss
    rank_weight: float = 0.2  # of the softmax over a question's sentences
    unit_weight: float = 0.3  # of units of several sentences
    records_per_epoch: int = 0  # most of one file, drawn anew; 0 takes all


@dataclass(frozen=True)
class TrainSproutDefaults(TrainDefaults):
    """`grasp train sprout`; SproutRAG's published settings."""

    encoder_rate: float = 2e-5
    head_rate: float = 1e-3  # of alpha
    warm_up: float = 0.05
    batch: int = 32  # questions of a step
    temperature: float = 0.05  # of InfoNCE
    support_weight: float = 0.1  # of -log M of chunks that support an answer together
    only_heads: bool = False  # freeze the encoder
    evaluations: int = 1
    patience: int = 0
    checkpoint_steps: int = 10


INPUT = InputDefaults()
PROGRESS = ProgressDefaults()
TEXT = TextDefaults()
INDEX = IndexDefaults()
RETRIEVE = RetrieveDefaults()
TREE = TreeDefaults()
COMPRESS = CompressDefaults()
CAUSAL = CausalDefaults()
ANSWER = AnswerDefaults()
EVALUATE = EvaluateDefaults()
VALIDATE = ValidateDefaults()
DOCTOR = DoctorDefaults()
EXPERIMENT = ExperimentDefaults()
JOB = JobDefaults()
TRAIN_EVIDENCE = TrainEvidenceDefaults()
TRAIN_SPROUT = TrainSproutDefaults()

PROFILE = "embedded"
SCORE_DECIMALS = 4  # scores are rounded to this before any decision and on output
