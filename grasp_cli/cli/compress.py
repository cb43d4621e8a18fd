"""`grasp compress`."""

from __future__ import annotations

from dataclasses import asdict

from grasp_cli.cli import compress_options as given
from grasp_cli.cli.job import job
from grasp_cli.cli.options import (
    DEFAULT_PROFILE,
    Check,
    Latency,
    ProfileOption,
    Stream,
    Threads,
    fair_threads,
    run,
)
from grasp_cli.defaults import CAUSAL, COMPRESS, TEXT, CausalDefaults, compress_settings
from grasp_cli.pipe.manifest import Recipe

_METHOD = given.MethodName(COMPRESS.method)
_ON_EMPTY = given.OnEmpty(COMPRESS.on_empty)
_PRESET = given.Preset(COMPRESS.preset)
_UNIT = given.UnitName(COMPRESS.unit)
_SPLITTER = given.Splitter(TEXT.splitter)
_QUANTIZE = given.Quantize(CAUSAL.quantize)
_SCOPE = given.Scope(CAUSAL.context_scope)


_MODELS = ("coarse_model", "embedder", "classifier", "compressor")  # in the manifest by weights
_FREE = ("threads", "window", "verify_prefix", *_MODELS)


@job(free=_FREE)
def compress(
    stream: Stream,
    method: given.Method = _METHOD,
    coarse: given.Coarse = COMPRESS.coarse,
    fine: given.Fine = COMPRESS.fine,
    coarse_ratio: given.CoarseRatio = COMPRESS.coarse_ratio,
    quitox_min_keep: given.QuitoxMinKeep = COMPRESS.quitox_min_keep,
    gaussian_sigma: given.GaussianSigma = COMPRESS.gaussian_sigma,
    similarity_threshold: given.SimilarityThreshold = None,
    locality_window: given.LocalityWindow = COMPRESS.locality_window,
    preset: given.PresetOption = _PRESET,
    fine_threshold: given.FineThreshold = None,
    hops: given.Hops = COMPRESS.hops,
    on_empty: given.OnEmptyOption = _ON_EMPTY,
    lead_sentences: given.LeadSentences = COMPRESS.lead_sentences,
    max_tokens: given.MaxTokens = COMPRESS.max_tokens,
    max_tokens_per_doc: given.MaxTokensPerDoc = COMPRESS.max_tokens_per_doc,
    top_k_spans: given.TopKSpans = COMPRESS.top_k_spans,
    rate: given.Rate = None,
    unit: given.UnitOption = _UNIT,
    seed: given.Seed = COMPRESS.seed,
    instruction: given.Instruction = None,
    budget: given.BudgetOption = None,
    min_tokens: given.MinTokens = COMPRESS.min_tokens,
    redundancy: given.Redundancy = None,
    redundancy_threshold: given.RedundancyThreshold = COMPRESS.redundancy_threshold,
    mmr_lambda: given.MmrLambda = COMPRESS.mmr_lambda,
    markers: given.Markers = COMPRESS.markers,
    gap: given.Gap = COMPRESS.gap,
    explain: given.Explain = COMPRESS.explain,
    coarse_model: given.CoarseModel = None,
    embedder: given.Embedder = None,
    classifier: given.Classifier = None,
    compressor: given.Compressor = None,
    tokenizer: given.Tokenizer = None,
    splitter: given.SplitterOption = _SPLITTER,
    dtype: given.DtypeOption = given.Dtype.auto,
    device: given.Device = CAUSAL.device,
    quantize: given.QuantizeOption = _QUANTIZE,
    context_scope: given.ContextScope = _SCOPE,
    max_input_tokens: given.MaxInputTokens = CAUSAL.max_input_tokens,
    verify_prefix: given.VerifyPrefix = CAUSAL.verify_prefix,
    window: given.Window = COMPRESS.window,
    profile: ProfileOption = DEFAULT_PROFILE,
    latency: Latency = False,
    threads: Threads = None,
) -> None:
    """Keep the sentences of each record's contexts that its question needs, word for word.

    Adds `context` (the text for the reader), `evidence` (what was kept, with offsets) and
    `compression` (what was removed).

    grasp retrieve questions.jsonl | grasp compress > compressed.jsonl

    grasp compress --method lead retrieved.jsonl -o lead.jsonl
    """
    from grasp_cli.compression.setup import Asked, model_names
    from grasp_cli.compression.setup import compressor as stage_of

    options = compress_settings(
        method.value,
        coarse=coarse,
        fine=fine,
        coarse_ratio=coarse_ratio,
        quitox_min_keep=quitox_min_keep,
        gaussian_sigma=gaussian_sigma,
        preset=preset.value,
        locality_window=locality_window,
        hops=hops,
        on_empty=on_empty.value,
        lead_sentences=lead_sentences,
        max_tokens=max_tokens,
        max_tokens_per_doc=max_tokens_per_doc,
        top_k_spans=top_k_spans,
        rate=rate,
        unit=unit.value,
        seed=seed,
        instruction=instruction,
        budget=budget and budget.value,
        min_tokens=min_tokens,
        redundancy=redundancy,
        redundancy_threshold=redundancy_threshold,
        mmr_lambda=mmr_lambda,
        markers=markers,
        gap=gap,
        explain=explain,
        window=window,
    )
    asked = Asked(
        profile=profile.value,
        preset=preset.value,
        fine_threshold=fine_threshold,
        similarity_threshold=similarity_threshold,
        coarse_model=coarse_model,
        embedder=embedder,
        classifier=classifier,
        compressor=compressor,
        tokenizer=tokenizer,
        splitter=splitter.value,
        dtype=dtype.value,
        causal=CausalDefaults(
            device, quantize.value, context_scope.value, max_input_tokens, verify_prefix
        ),
        threads=fair_threads(threads),
        quiet=stream.quiet,
    )
    stage = stage_of(options, asked)

    def recipe(check: Check) -> Recipe:
        resolved = {
            **asdict(stage.options),
            "dtype": stage.setting.dtype,
            "tokenizer": stage.counter.name,
        }
        names = model_names(stage.options, asked)
        return stream.recipe(resolved, {role: check(name) for role, name in names.items()})

    run(stage, stream, recipe=recipe)
