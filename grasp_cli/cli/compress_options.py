"""The options of `grasp compress`, and the values that they take."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from grasp_cli.defaults import COMPRESS, PUBLISHED


class MethodName(str, Enum):
    """Compression methods."""

    grasp = "grasp"
    exit = "exit"
    quitox = "quitox"
    cosine = "cosine"
    cross_encoder = "cross-encoder"
    attention = "attention"
    none = "none"
    lead = "lead"
    truncate = "truncate"
    random = "random"
    top_k_passages = "top-k-passages"
    oracle = "oracle"
    embeddings_filter = "embeddings-filter"
    recomp_extractive = "recomp-extractive"
    ragcompress = "ragcompress"
    llmlingua2 = "llmlingua2"
    provence = "provence"
    longllmlingua = "longllmlingua"
    recomp_abstractive = "recomp-abstractive"
    compact = "compact"
    refiner = "refiner"


class Preset(str, Enum):
    """Operating points of a trained classifier."""

    recall = "recall"
    balanced = "balanced"
    tight = "tight"


class OnEmpty(str, Enum):
    """What stands in where nothing passes the threshold."""

    keep_best = "keep-best"
    passthrough = "passthrough"
    empty = "empty"


class Budget(str, Enum):
    """What stops the choice of units."""

    threshold = "threshold"
    adaptive = "adaptive"


class UnitName(str, Enum):
    """What is kept or dropped as a whole."""

    document = "document"
    sentence = "sentence"


class Dtype(str, Enum):
    """Number format of the models."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class Quantize(str, Enum):
    """Weights of a causal classifier."""

    none = "none"
    nf4 = "nf4"
    int8 = "int8"


class Scope(str, Enum):
    """What a causal classifier reads beside a unit."""

    document = "document"
    all = "all"


class Splitter(str, Enum):
    """Sentence splitters."""

    rule = "rule"
    punkt = "punkt"
    nupunkt = "nupunkt"


def _for_methods(field: str) -> str:
    """The methods' own defaults of an option, to be shown after the general one."""
    values: dict[str, list[str]] = {}
    for method, own in PUBLISHED.items():
        if field in own:
            values.setdefault(str(own[field]), []).append(method)
    return "".join(f"; {value} for {', '.join(names)}" for value, names in values.items())


Method = Annotated[MethodName, typer.Option(help="How sentences are chosen.")]
Coarse = Annotated[
    bool, typer.Option("--coarse/--no-coarse", help="Run the coarse sentence filter (QUITO-X).")
]
Fine = Annotated[bool, typer.Option("--fine/--no-fine", help="Judge evidence units (EP-EXIT).")]
CoarseRatio = Annotated[
    float, typer.Option(min=0, max=1, help="Share of a passage's sentences that stays.")
]
QuitoxMinKeep = Annotated[
    int, typer.Option(min=0, help="Sentences of a passage that stay at least.")
]
GaussianSigma = Annotated[float, typer.Option(min=0, help="Smoothing of token scores, in tokens.")]
SimilarityThreshold = Annotated[
    float | None,
    typer.Option(
        min=-1,
        max=1,
        show_default=f"{COMPRESS.similarity_threshold}, or what a trained embedder states",
        help="Least cosine that joins two sentences in a unit.",
    ),
]
LocalityWindow = Annotated[
    int, typer.Option(min=0, help="Greatest distance of two joined sentences.")
]
FineThreshold = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        show_default=f"{COMPRESS.fine_threshold}, or that of the preset"
        + _for_methods("fine_threshold"),
        help="Least score of a unit that is kept.",
    ),
]
PresetOption = Annotated[
    Preset,
    typer.Option(
        help="Operating point of a trained classifier: keep more, balanced, or keep less."
    ),
]
Hops = Annotated[
    int,
    typer.Option(
        min=1,
        help="Judge dropped units again, the question extended by titles and names of the "
        "best kept ones, N-1 times; each costs a pass of the classifier over what was dropped.",
    ),
]
OnEmptyOption = Annotated[
    OnEmpty, typer.Option(help="What is kept where no unit reaches the threshold.")
]
LeadSentences = Annotated[int, typer.Option(min=1, help="Sentences per passage of --method lead.")]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="no limit",
        help="Most tokens of the context, best units first.",
    ),
]
MaxTokensPerDoc = Annotated[
    int | None,
    typer.Option(min=1, show_default="no limit", help="Most tokens of each document's block."),
]
TopKSpans = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="no limit" + _for_methods("top_k_spans"),
        help="Most evidence units, best first.",
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        show_default="no limit" + _for_methods("rate"),
        help="Most tokens of the context, as a share of what --method none writes; of "
        "llmlingua2 and longllmlingua the share of the texts' tokens.",
    ),
]
UnitOption = Annotated[
    UnitName,
    typer.Option(
        help="What recomp-extractive and embeddings-filter keep or drop as a whole: passages or "
        "sentences."
    ),
]
Instruction = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        show_default="our wording",
        help="Instruction of --method compact; a line --- parts that of the first round from that "
        "of the later ones.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of --method random.")]
BudgetOption = Annotated[
    Budget | None,
    typer.Option(
        show_default=COMPRESS.budget + _for_methods("budget"),
        help="What stops the choice of units: the threshold, or (adaptive) the first gap in their "
        "scores from --min-tokens on, and --max-tokens (1024 where not given).",
    ),
]
MinTokens = Annotated[
    int, typer.Option(min=0, help="Fewest tokens of the adaptive budget, where there are units.")
]
Markers = Annotated[
    bool, typer.Option("--markers", help="Write [doc_id] in front of each document's block.")
]
Gap = Annotated[str, typer.Option(help="What stands between kept texts that were not adjacent.")]
Redundancy = Annotated[
    bool | None,
    typer.Option(
        "--redundancy/--no-redundancy",
        show_default="off; on for ragcompress",
        help="Leave out units that repeat a better one (MMR), unless a number, name or "
        "negation differs.",
    ),
]
RedundancyThreshold = Annotated[
    float, typer.Option(min=-1, max=1, help="Greatest cosine of two units that both stay.")
]
MmrLambda = Annotated[
    float, typer.Option(min=0, max=1, help="Weight of relevance against novelty.")
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Add `explain`: every sentence's scores, and why it was kept or not."
    ),
]
CoarseModel = Annotated[
    str | None, typer.Option(show_default="of the profile", help="Coarse filter: name or path.")
]
Embedder = Annotated[
    str | None, typer.Option(show_default="of the profile", help="Embedder: name or path.")
]
Classifier = Annotated[
    str | None, typer.Option(show_default="of the profile", help="Classifier: name or path.")
]
Compressor = Annotated[
    str | None,
    typer.Option(
        show_default="the published one",
        help="Model of a published method, from recomp-extractive on: name or path.",
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(show_default="of the profile", help="What counts tokens: name or path."),
]
SplitterOption = Annotated[Splitter, typer.Option(help="How text is cut into sentences.")]
DtypeOption = Annotated[Dtype, typer.Option(help="Number format of the models.")]
Device = Annotated[
    str,
    typer.Option(
        help="Where the larger models (causal, T5, cross-encoder) run: auto, cpu, cuda, cuda:N "
        "or mps."
    ),
]
QuantizeOption = Annotated[
    Quantize,
    typer.Option(help="Smaller weights of a causal classifier: less memory, slower."),
]
ContextScope = Annotated[
    Scope, typer.Option(help="What a causal classifier reads with a unit: its document or all.")
]
MaxInputTokens = Annotated[
    int | None,
    typer.Option(
        min=64,
        show_default="what the model can hold",
        help="Longest input of a causal classifier; longer contexts are cut around the unit. "
        "Method attention reads windows of this size (2048 where not given).",
    ),
]
VerifyPrefix = Annotated[
    int,
    typer.Option(
        min=0,
        help="Units of each batch that a causal classifier scores again one by one; exit 5 "
        "where that differs.",
    ),
]
Window = Annotated[int, typer.Option(min=1, help="Records looked ahead at most, for full batches.")]
