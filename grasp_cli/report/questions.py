"""The questions of a comparison, worst losses first, with what each method made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import OF_RECORDS
from grasp_cli.evaluation.summary import Key, Summary
from grasp_cli.pipe.provenance import local_spans
from grasp_cli.pipe.records import Record, trace_of
from grasp_cli.report.pareto import chosen_quality

_FULL = " (full)"


@dataclass
class Question:
    """A question and the quality of each method on it, by label; None where it has no value.

    `loss` is the least that a method is better than the baseline (below 0: it is worse), or where
    there is no baseline the mean quality: the lowest is the worst. `methods` and `sets` are filled
    from the records: what a method answered and kept, and the contexts that it had, once for all
    methods that had the same.
    """

    key: Key
    values: dict[str, float | None]
    loss: float
    text: str = ""
    gold: list[str] = field(default_factory=list)
    methods: list[dict[str, Any]] = field(default_factory=list)
    sets: list[dict[str, Any]] = field(default_factory=list)


def worst_questions(methods: Methods, quality: str, count: int) -> dict[Key, Question]:
    """At most `count` questions (0: all), worst losses first, without their texts."""
    found = []
    for group in methods.groups[: len(methods.datasets)]:
        name = chosen_quality(group, quality)
        values = {each.label: _by_key(each, name) for each in group.methods}
        keys = dict.fromkeys(key for each in group.methods for key in each.keys)
        for key in keys:
            own = {label: known.get(key) for label, known in values.items()}
            found.append(Question(key, own, _loss(own, methods.baseline)))
    found.sort(key=lambda each: each.loss)
    return {each.key: each for each in found[: count or None]}


def fill(
    questions: dict[Key, Question], methods: Methods, records: Iterable[tuple[str, Key, Record]]
) -> None:
    """Add texts, answers and contexts from the records, given with label and key."""
    summaries: dict[str, list[Summary]] = {}
    for each in _all_summaries(methods):
        summaries.setdefault(each.label, []).append(each)
    scores = {label: _scores(parts, questions) for label, parts in summaries.items()}
    for label, key, record in records:
        question = questions.get(key)
        if question is None:
            continue
        question.text = record["question"]
        question.gold = [str(answer) for answer in record.get("answers") or question.gold]
        number = _set_number(question, record)
        own = scores.get(label, {}).get(key, [])
        question.methods.append(_entry(label, record, number, own))
        if "answer_full" in record:
            more = scores.get(label + _FULL, {}).get(key, [])
            question.methods.append(_full_entry(label + _FULL, record, number, more))


def rebuilt(documents: Sequence[dict[str, str]], spans: Sequence[Sequence[int]]) -> str:
    """The context that spans of documents make, as grasp writes it where nothing else is asked."""
    blocks: dict[int, list[str]] = {}
    for place, start, end in spans:
        blocks.setdefault(place, []).append(documents[place]["text"][start:end])
    return "\n\n".join(
        "\n".join(part for part in (documents[place]["title"], " ".join(texts)) if part)
        for place, texts in blocks.items()
    )


def _by_key(summary: Summary, name: str) -> dict[Key, float | None]:
    values = summary.values[name]
    return {k: None if v != v else v for k, v in zip(summary.keys, values, strict=True)}


def _loss(values: dict[str, float | None], baseline: str | None) -> float:
    known = [v for label, v in values.items() if v is not None and label != baseline]
    if baseline is None:
        return sum(known) / len(known) if known else 0.0
    base = values.get(baseline)
    return 0.0 if base is None or not known else min(known) - base


def _all_summaries(methods: Methods) -> list[Summary]:
    return [each for group in methods.groups[: len(methods.datasets)] for each in group.methods]


def _scores(
    parts: Sequence[Summary], questions: dict[Key, Question]
) -> dict[Key, list[tuple[str, float]]]:
    """The shares of each chosen question that are known, as headings and percents."""
    shares = [metric for metric in OF_RECORDS if metric.unit == "share" and not metric.detail]
    found = {}
    for part in parts:
        columns = [(metric.heading, part.values[metric.name].array()) for metric in shares]
        for place, key in enumerate(part.keys):
            if key in questions:
                known = [(name, c[place]) for name, c in columns if c[place] == c[place]]
                found[key] = [(name, round(100 * value, 1)) for name, value in known]
    return found


def _set_number(question: Question, record: Record) -> int | None:
    """Which of the question's sets of contexts a record has; a new one where it is none yet."""
    contexts = record.get("contexts")
    if not contexts:
        return None
    documents = [{"title": c.get("title") or "", "text": c["text"]} for c in contexts]
    for number, known in enumerate(question.sets):
        if known["documents"] == documents:
            return number
    question.sets.append({"documents": documents, "gold": _gold(record)})
    return len(question.sets) - 1


def _gold(record: Record) -> list[list[int]]:
    """Gold evidence as [place of the context, start, end]."""
    found = []
    for place, context in enumerate(record["contexts"]):
        name = context.get("doc_id") or context["id"]
        for piece in record.get("evidence_gold") or []:
            if piece.get("id") == name and context["text"]:
                start, end = piece.get("start"), piece.get("end")
                if start is None or end is None:
                    found.append([place, 0, len(context["text"])])
                else:
                    found += [[place, *span] for span in local_spans(context, start, end)]
    return found


def _entry(
    label: str, record: Record, number: int | None, scores: list[tuple[str, float]]
) -> dict[str, Any]:
    trace = trace_of(record, "compression")
    entry: dict[str, Any] = {
        "label": label,
        "answer": record.get("answer"),
        "scores": scores,
        "set": number,
        "tokens": [trace.get("tokens_in"), trace.get("tokens_out")],
    }
    if "error" in record:
        error = record["error"]
        entry["error"] = f"{error.get('stage')}: {error.get('message')}"
    contexts = record.get("contexts") or []
    places = {context["id"]: place for place, context in enumerate(contexts)}
    if "evidence" in record:
        spans = [
            [places[piece["context"]], piece["start"], piece["end"]]
            for piece in record["evidence"]
            if piece.get("context") in places
        ]
        entry["spans"] = spans
    elif contexts and "context" not in record:
        entry["spans"] = spans = [[n, 0, len(c["text"])] for n, c in enumerate(contexts)]
    else:
        entry["spans"] = spans = []
    context = record.get("context")
    documents = [{"title": c.get("title") or "", "text": c["text"]} for c in contexts]
    if isinstance(context, str) and context != rebuilt(documents, spans):
        entry["context"] = context
    return entry


def _full_entry(
    label: str, record: Record, number: int | None, scores: list[tuple[str, float]]
) -> dict[str, Any]:
    """As answered from the full contexts."""
    left_out = ("evidence", "context", "compression")
    whole = {name: value for name, value in record.items() if name not in left_out}
    return _entry(label, {**whole, "answer": record["answer_full"]}, number, scores)
