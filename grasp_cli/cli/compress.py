"""`grasp compress`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.options import (
    DEFAULT_PROFILE,
    AllowEmpty,
    Expect,
    Inputs,
    OnError,
    OnErrorOption,
    Output,
    ProfileOption,
    Quarantine,
    Quiet,
    Stream,
    Threads,
    fair_threads,
    run,
)
from grasp_cli.defaults import CAUSAL, COMPRESS, TEXT, CausalDefaults
from grasp_cli.pipe.sources import inputs_or_stdin


class MethodName(str, Enum):
    """Compression methods."""

    grasp = "grasp"
    exit = "exit"
    none = "none"
    lead = "lead"


class OnEmpty(str, Enum):
    """What stands in where nothing passes the threshold."""

    keep_best = "keep-best"
    passthrough = "passthrough"
    empty = "empty"


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


_METHOD = MethodName(COMPRESS.method)
_ON_EMPTY = OnEmpty(COMPRESS.on_empty)
_SPLITTER = Splitter(TEXT.splitter)
_QUANTIZE = Quantize(CAUSAL.quantize)
_SCOPE = Scope(CAUSAL.context_scope)


def compress(
    files: Inputs = None,
    output: Output = None,
    method: Annotated[MethodName, typer.Option(help="How sentences are chosen.")] = _METHOD,
    coarse: Annotated[
        bool, typer.Option("--coarse/--no-coarse", help="Run the coarse sentence filter (QUITO-X).")
    ] = COMPRESS.coarse,
    fine: Annotated[
        bool, typer.Option("--fine/--no-fine", help="Judge evidence units (EP-EXIT).")
    ] = COMPRESS.fine,
    coarse_ratio: Annotated[
        float, typer.Option(min=0, max=1, help="Share of a passage's sentences that stays.")
    ] = COMPRESS.coarse_ratio,
    quitox_min_keep: Annotated[
        int, typer.Option(min=0, help="Sentences of a passage that stay at least.")
    ] = COMPRESS.quitox_min_keep,
    gaussian_sigma: Annotated[
        float, typer.Option(min=0, help="Smoothing of token scores, in tokens.")
    ] = COMPRESS.gaussian_sigma,
    similarity_threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Least cosine that joins two sentences in a unit.")
    ] = COMPRESS.similarity_threshold,
    locality_window: Annotated[
        int, typer.Option(min=0, help="Greatest distance of two joined sentences.")
    ] = COMPRESS.locality_window,
    fine_threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Least score of a unit that is kept.")
    ] = COMPRESS.fine_threshold,
    hops: Annotated[
        int,
        typer.Option(
            min=1,
            help="Judge dropped units again, the question extended by titles and names of the "
            "best kept ones, N-1 times; each costs a pass of the classifier over what was dropped.",
        ),
    ] = COMPRESS.hops,
    on_empty: Annotated[
        OnEmpty, typer.Option(help="What is kept where no unit reaches the threshold.")
    ] = _ON_EMPTY,
    lead_sentences: Annotated[
        int, typer.Option(min=1, help="Sentences per passage of --method lead.")
    ] = COMPRESS.lead_sentences,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="no limit",
            help="Most tokens of the context, best units first.",
        ),
    ] = COMPRESS.max_tokens,
    redundancy: Annotated[
        bool,
        typer.Option(
            "--redundancy/--no-redundancy",
            help="Leave out units that repeat a better one (MMR), unless a number, name or "
            "negation differs.",
        ),
    ] = COMPRESS.redundancy,
    redundancy_threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Greatest cosine of two units that both stay.")
    ] = COMPRESS.redundancy_threshold,
    mmr_lambda: Annotated[
        float, typer.Option(min=0, max=1, help="Weight of relevance against novelty.")
    ] = COMPRESS.mmr_lambda,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Add `explain`: every sentence's scores, and why it was kept or not."
        ),
    ] = COMPRESS.explain,
    coarse_model: Annotated[
        str | None, typer.Option(show_default="of the profile", help="Coarse filter: name or path.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(show_default="of the profile", help="Embedder: name or path.")
    ] = None,
    classifier: Annotated[
        str | None, typer.Option(show_default="of the profile", help="Classifier: name or path.")
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(show_default="of the profile", help="What counts tokens: name or path."),
    ] = None,
    splitter: Annotated[Splitter, typer.Option(help="How text is cut into sentences.")] = _SPLITTER,
    dtype: Annotated[Dtype, typer.Option(help="Number format of the models.")] = Dtype.auto,
    device: Annotated[
        str, typer.Option(help="Where a causal classifier runs: auto, cpu, cuda, cuda:N or mps.")
    ] = CAUSAL.device,
    quantize: Annotated[
        Quantize,
        typer.Option(help="Smaller weights of a causal classifier: less memory, slower."),
    ] = _QUANTIZE,
    context_scope: Annotated[
        Scope, typer.Option(help="What a causal classifier reads with a unit: its document or all.")
    ] = _SCOPE,
    max_input_tokens: Annotated[
        int | None,
        typer.Option(
            min=64,
            show_default="what the model can hold",
            help="Longest input of a causal classifier; longer contexts are cut around the unit.",
        ),
    ] = CAUSAL.max_input_tokens,
    verify_prefix: Annotated[
        int,
        typer.Option(
            min=0,
            help="Units of each batch that a causal classifier scores again one by one; exit 5 "
            "where that differs.",
        ),
    ] = CAUSAL.verify_prefix,
    window: Annotated[
        int, typer.Option(min=1, help="Records looked ahead at most, for full batches.")
    ] = COMPRESS.window,
    profile: ProfileOption = DEFAULT_PROFILE,
    threads: Threads = None,
    expect: Expect = None,
    allow_empty: AllowEmpty = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    quiet: Quiet = False,
) -> None:
    """Keep the sentences of each record's contexts that its question needs, word for word.

    Adds `context` (the text for the reader), `evidence` (what was kept, with offsets) and
    `compression` (what was removed).

    grasp retrieve questions.jsonl | grasp compress > compressed.jsonl

    grasp compress --method lead retrieved.jsonl -o lead.jsonl
    """
    from grasp_cli.compression.methods import Encoders, Models, build, needed, number_format
    from grasp_cli.compression.stage import Compress, Setting
    from grasp_cli.models.causal import tokenizer_directory
    from grasp_cli.models.locate import find, find_all
    from grasp_cli.models.profiles import model_for
    from grasp_cli.text.tokens import TokenCounter

    options = replace(
        COMPRESS,
        method=method.value,
        coarse=coarse,
        fine=fine,
        coarse_ratio=coarse_ratio,
        quitox_min_keep=quitox_min_keep,
        gaussian_sigma=gaussian_sigma,
        similarity_threshold=similarity_threshold,
        locality_window=locality_window,
        fine_threshold=fine_threshold,
        hops=hops,
        on_empty=on_empty.value,
        lead_sentences=lead_sentences,
        max_tokens=max_tokens,
        redundancy=redundancy,
        redundancy_threshold=redundancy_threshold,
        mmr_lambda=mmr_lambda,
        explain=explain,
        window=window,
    )
    stream = Stream(
        "compress",
        inputs_or_stdin(files, "compress"),
        output,
        expect,
        allow_empty,
        on_error,
        quarantine,
        quiet,
    )
    models = Models(
        coarse=coarse_model or model_for(profile.value, "coarse"),
        embedder=embedder or model_for(profile.value, "embedder"),
        classifier=classifier or model_for(profile.value, "classifier"),
        dtype=_number_format(method, dtype),
        threads=fair_threads(threads),
        causal_dtype=dtype.value,
        causal=CausalDefaults(
            device, quantize.value, context_scope.value, max_input_tokens, verify_prefix
        ),
        quiet=quiet,
    )
    counted_by = tokenizer or models.classifier
    find_all([*needed(options, models), counted_by])
    encoders = Encoders(models)
    stage = Compress(
        build(options, models, encoders),
        encoders.get(models.embedder) if redundancy else None,
        TokenCounter(tokenizer_directory(find(counted_by)), Path(counted_by).name),
        options,
        Setting(profile.value, number_format(options, models), splitter.value),
    )
    run(stage, stream)


def _number_format(method: MethodName, asked: Dtype) -> str:
    """The dtype's name; methods without a model do not import torch to learn it."""
    from grasp_cli.compression.methods import WITHOUT_MODELS

    if method.value in WITHOUT_MODELS:
        return Dtype.float32.value
    from grasp_cli.models.dtype import choose_dtype

    return str(choose_dtype(asked.value, "cpu")).removeprefix("torch.")
