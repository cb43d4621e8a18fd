"""The metrics, once: name, heading, unit and definition. Help, tables and gates read them here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """`unit` is "count", "share" (0 to 1, shown in percent) or "seconds"."""

    name: str
    heading: str
    unit: str
    definition: str


COUNTS = (
    Metric("n", "n", "count", "questions: records of the file, or of --gold where given"),
    Metric("failed", "failed", "count", "records with an error; they count as 0"),
    Metric("missing", "missing", "count", "questions without an answer; they count as 0"),
)
ANSWER_METRICS = (
    Metric("em", "EM", "share", "exact match after SQuAD's normalisation"),
    Metric(
        "contains",
        "contains",
        "share",
        "a gold answer stands in the answer as a run of tokens (the EM of published tables)",
    ),
    Metric("f1", "F1", "share", "F1 of shared tokens; as in HotpotQA, 0 where yes and no differ"),
    Metric("rouge_l", "R-L", "share", "ROUGE-L F-measure, as rouge-score without stemming"),
)
EVIDENCE_METRICS = (
    Metric("evidence_recall", "evidence", "share", "share of all gold evidence that was kept"),
    Metric(
        "evidence_recall_present",
        "ev. present",
        "share",
        "the same over the gold evidence that is in the contexts",
    ),
)
COST_METRICS = (
    Metric("removed", "removed", "share", "share of the contexts' tokens that was removed"),
    Metric("seconds_retrieve", "retrieve s", "seconds", "seconds per question to retrieve"),
    Metric("seconds_compress", "compress s", "seconds", "seconds per question to compress"),
    Metric("seconds_answer", "answer s", "seconds", "seconds per question to answer"),
)
RANKING_COUNTS = (
    Metric("n", "n", "count", "judged questions"),
    Metric("failed", "failed", "count", "records with an error; they count as 0"),
    Metric("missing", "missing", "count", "questions without results; they count as 0"),
)
METRICS = (*ANSWER_METRICS, *EVIDENCE_METRICS, *COST_METRICS)
BY_NAME = {metric.name: metric for metric in (*COUNTS, *METRICS)}


def ranking_metrics(cutoffs: Sequence[int]) -> tuple[Metric, ...]:
    """The metrics of `grasp evaluate --retrieval`, recall and hit rate at each cutoff."""
    found, hits = "share of the relevant documents in the first", "a relevant document in the first"
    gain = "gain (grade / log2(rank + 1)) of the first 10 against that of the ideal ranking"
    precision = "mean precision at the ranks of the relevant documents"
    return (
        *(Metric(f"recall@{k}", f"R@{k}", "share", f"{found} {k}") for k in cutoffs),
        *(Metric(f"hit@{k}", f"hit@{k}", "share", f"{hits} {k}") for k in cutoffs),
        Metric("mrr", "MRR", "share", "1 / rank of the first relevant document"),
        Metric("ndcg@10", "nDCG@10", "share", gain),
        Metric("map", "MAP", "share", precision),
    )


def definitions(metrics: Iterable[Metric] = BY_NAME.values()) -> str:
    """One line per metric, for help texts."""
    return "\n".join(f"{metric.name}: {metric.definition}." for metric in metrics)
