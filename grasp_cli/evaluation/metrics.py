"""The metrics, once: name, heading, unit and definition. Help, tables and gates read them here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grasp_cli.defaults import EVALUATE


@dataclass(frozen=True)
class Metric:
    """One number of a table.

    `unit` is "count", "share" (0 to 1, shown in percent), "seconds", "tokens" or "rate".
    `source` names the values of the records that it is made of (default: its own name) and
    `statistic` how, as in `aggregates.STATISTICS`. A `detail` is left out of tables for people
    unless --details asks for it.
    """

    name: str
    heading: str
    unit: str
    definition: str
    source: str = ""
    statistic: str = "mean"
    detail: bool = False

    @property
    def values(self) -> str:
        """The name of the records' values that it is made of."""
        return self.source or self.name


def share(name: str, heading: str, definition: str, *, detail: bool = False) -> Metric:
    """A metric from 0 to 1."""
    return Metric(name, heading, "share", definition, detail=detail)


COUNTS = (
    Metric("n", "n", "count", "questions: records of the file, or of --gold where given"),
    Metric("failed", "failed", "count", "records with an error; they count as 0"),
    Metric("missing", "missing", "count", "questions without an answer; they count as 0"),
)
ANSWER_METRICS = (
    share("em", "EM", "exact match after SQuAD's normalisation"),
    share(
        "contains",
        "contains",
        "a gold answer stands in the answer as a run of tokens (the EM of published tables)",
    ),
    share("f1", "F1", "F1 of shared tokens; 0 where the answer is yes or no and the gold is not"),
    share("rouge_l", "R-L", "ROUGE-L F-measure, as rouge-score without stemming"),
    share("rouge_l_stem", "R-L stem", "the same with Porter's stemmer, where --stemming is given"),
    share(
        "str_em",
        "STR-EM",
        "ASQA's string match: share of qa_pairs of which a short answer is part of the answer, "
        "both normalised",
    ),
    share(
        "disambig_f1",
        "Disambig-F1",
        "ASQA's: the model of --qa-model answers each question of qa_pairs from the answer; mean "
        "token F1 against the short answers",
    ),
    share(
        "entity_f1",
        "entity F1",
        "2 r / (r + x + n): of n qa_pairs, r have a short answer in the answer as a run of "
        "tokens; x further names and numbers are there that no question has. No model reads it; "
        "it is not Disambig-F1",
    ),
)
EVIDENCE_METRICS = (
    share("evidence_recall", "evidence", "share of all gold evidence that was kept"),
    share(
        "evidence_recall_present",
        "ev. present",
        "the same over the gold evidence that is in the contexts",
        detail=True,
    ),
    share("evidence_precision", "precision", "share of the kept sentences that hold gold evidence"),
    share(
        "evidence_f1",
        "evidence F1",
        "harmonic mean of a record's evidence_recall and evidence_precision",
        detail=True,
    ),
    share("citation", "citation", "some gold evidence was kept", detail=True),
    share("all_gold", "all gold", "all gold evidence was kept, whole (multi-hop)", detail=True),
    share(
        "answer_kept",
        "answer kept",
        "a gold answer (not yes or no) that is in the contexts is still in the compressed context",
    ),
    share("verbatim", "verbatim", "every evidence text is its slice of the contexts", detail=True),
    share(
        "budget_kept",
        "in budget",
        "the context has no more tokens than compression.max_tokens",
        detail=True,
    ),
)
_STAGES = {
    "retrieve": "to retrieve",
    "compress": "to compress",
    "answer": "to answer",
    "total": "end to end: the sum of the stages of an answered record",
}
_TOKENS = {
    "tokens_in": ("tokens in", "tokens of the contexts, as compress counts them"),
    "tokens_out": ("tokens out", "tokens of the compressed context"),
    "prompt_tokens": ("prompt", "tokens that the reader read"),
    "completion_tokens": ("completion", "tokens that the reader wrote"),
}


def _spread(name: str, heading: str, definition: str) -> tuple[Metric, ...]:
    """Mean, median and 95th percentile of seconds."""
    mean = Metric(name, f"{heading} s", "seconds", f"mean seconds per question {definition}")
    percentiles = (
        Metric(
            f"{name}_{statistic}",
            f"{heading} {statistic}",
            "seconds",
            f"{number}th percentile of the same",
            name,
            statistic,
            detail=True,
        )
        for statistic, number in (("p50", 50), ("p95", 95))
    )
    return (mean, *percentiles)


def _rate(stage: str, task: str) -> Metric:
    name = "questions" if stage == "total" else stage
    return Metric(
        f"throughput_{stage}",
        f"{name}/s",
        "rate",
        f"questions per second {task}: 1 / the mean share",
        f"seconds_{stage}",
        "rate",
        detail=True,
    )


COST_METRICS = (
    share("removed", "removed", "share of the contexts' tokens that was removed"),
    share(
        "removed_chars",
        "removed chars",
        "share of the contexts' characters that was removed",
        detail=True,
    ),
    *(
        Metric(name, heading, "tokens", f"{definition}, mean per question", detail=True)
        for name, (heading, definition) in _TOKENS.items()
    ),
    *(m for stage, task in _STAGES.items() for m in _spread(f"seconds_{stage}", stage, task)),
    *(_rate(stage, task) for stage, task in _STAGES.items()),
)
LATENCY_METRICS = tuple(
    metric
    for stage, task in _STAGES.items()
    for metric in _spread(f"latency_{stage}", f"{stage} latency", task)
)
RANKING_COUNTS = (
    Metric("n", "n", "count", "judged questions"),
    Metric("failed", "failed", "count", "records with an error; they count as 0"),
    Metric("missing", "missing", "count", "questions without results; they count as 0"),
)
METRICS = (*ANSWER_METRICS, *EVIDENCE_METRICS, *COST_METRICS, *LATENCY_METRICS)
BY_NAME = {metric.name: metric for metric in (*COUNTS, *METRICS)}
OF_RECORDS = tuple(metric for metric in METRICS if metric.values == metric.name)
SOURCES = tuple(metric.name for metric in OF_RECORDS)


def ranking_metrics(cutoffs: Sequence[int]) -> tuple[Metric, ...]:
    """The metrics of `grasp evaluate --retrieval`, recall and hit rate at each cutoff."""
    found, hits = "share of the relevant documents in the first", "a relevant document in the first"
    gain = "gain (grade / log2(rank + 1)) of the first 10 against that of the ideal ranking"
    precision = "mean precision at the ranks of the relevant documents"
    return (
        *(share(f"recall@{k}", f"R@{k}", f"{found} {k}") for k in cutoffs),
        *(share(f"hit@{k}", f"hit@{k}", f"{hits} {k}") for k in cutoffs),
        share("mrr", "MRR", "1 / rank of the first relevant document"),
        share("ndcg@10", "nDCG@10", gain),
        share("map", "MAP", precision),
    )


def unit_metrics(cutoffs: Sequence[int]) -> tuple[Metric, ...]:
    """The metrics of `grasp evaluate --retrieval --units` at each cutoff."""
    whole = "information efficiency: recall times precision"
    return tuple(
        metric
        for k in cutoffs
        for metric in (
            share(f"unit_recall@{k}", f"recall@{k}", f"share of gold that {k} chunks touch"),
            share(f"unit_precision@{k}", f"prec@{k}", f"of {k} chunks, those that touch gold"),
            share(f"unit_f1@{k}", f"F1@{k}", "their harmonic mean", detail=True),
            share(f"ie@{k}", f"IE@{k}", f"{whole}, mean over questions"),
            share(f"ie_of_means@{k}", f"IE@{k} of means", f"{whole}, of their means"),
        )
    )


def main_metrics(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """What a table for people shows unasked."""
    return tuple(metric for metric in metrics if not metric.detail)


_GROUPS: tuple[tuple[str, str, Sequence[Metric]], ...] = (
    ("Counts", "", COUNTS),
    (
        "Answers",
        "Normalised as SQuAD does: lower case, no punctuation, no a, an, the; in scripts without "
        "spaces every character is a token. The best of a record's gold answers counts. Gold yes "
        "or no: right where the first token of the answer is that word, in all of em, contains, "
        "f1 and rouge_l. answers: []: right where the answer is one of the tabled refusals, and "
        "nothing else.",
        ANSWER_METRICS,
    ),
    (
        "Evidence",
        "Of records with evidence_gold. A piece of gold evidence with offsets (a sentence, in most "
        "data) counts by the share of its characters, white space aside; a whole document by 0 or "
        "1. Not known where a model wrote the context (compression.verbatim is false).",
        EVIDENCE_METRICS,
    ),
    (
        "Cost",
        "Seconds are the records' shares, by tokens, of the batches they were in, model loading "
        "excluded; percentiles are interpolated.",
        COST_METRICS,
    ),
    (
        "Latency",
        "The same of records made with --latency: one at a time, warm, in one process.",
        LATENCY_METRICS,
    ),
    ("With --retrieval", "", (*RANKING_COUNTS, *ranking_metrics(EVALUATE.cutoffs))),
    (
        "With --retrieval --units",
        "Retrieved text as chunks of up to two sentences, in order and each once, against the "
        "spans of evidence_gold (SproutRAG).",
        unit_metrics(EVALUATE.unit_cutoffs),
    ),
)


def definitions(metrics: Iterable[Metric]) -> str:
    """One line per metric."""
    return "\n".join(f"{metric.name}: {metric.definition}." for metric in metrics)


def explained() -> str:
    """Every metric, in groups, with what the members of a group have in common."""
    return "\n\n".join(
        "\n".join(line for line in (title, note, definitions(metrics)) if line)
        for title, note, metrics in _GROUPS
    )
