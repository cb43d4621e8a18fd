"""The stage behind `grasp compress`: contexts in; `context`, `evidence`, `compression` out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from grasp_cli.compression.blocks import whole, without_overlaps
from grasp_cli.compression.budget import fit, leading
from grasp_cli.compression.explanation import Steps, explain
from grasp_cli.compression.tasks import Candidate, Evidence, Method, Selection, Task
from grasp_cli.compression.writer import Writer
from grasp_cli.defaults import CompressDefaults
from grasp_cli.models.encoder import Encoder
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.provenance import document_spans, has_source
from grasp_cli.pipe.records import Record
from grasp_cli.text.tokens import TokenCounter

SECONDS_DECIMALS = 4


@dataclass(frozen=True)
class Setting:
    """What every record of a run has in common, recorded in each."""

    profile: str
    dtype: str
    splitter: str


class Compress:
    """Compresses the contexts of records with one method."""

    name = "compress"

    def __init__(
        self,
        method: Method,
        embedder: Encoder | None,
        counter: TokenCounter,
        options: CompressDefaults,
        setting: Setting,
    ) -> None:
        self.method = method
        self.embedder = embedder  # there where redundancy is to be removed
        self.counter = counter
        self.options = options
        self.setting = setting
        self.window = options.window
        self._writer = Writer(counter, options)
        self._loaded = False

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        """One compressed record per record; see `pipe.engine.Stage`."""
        if not self._loaded:
            self.method.load()
            self._loaded = True
        started = time.perf_counter()
        full = [self._writer.full(record.get("contexts", [])) for record in records]
        tokens_in = self.counter.count(full)
        tasks = [Task.of(record, self.setting.splitter) for record in records]
        results = self._results(records, tasks)
        tokens_out = self._counted(results)
        for number, (before, after) in enumerate(zip(tokens_in, tokens_out, strict=True)):
            if after > before:  # pieces of words can be more tokens than the words
                whole = self._result(records[number], tasks[number], Selection([], []), "longer")
                results[number], tokens_out[number] = whole, self._counted([whole])[0]
        shares = _shares(tokens_in, time.perf_counter() - started)
        for number, (record, result) in enumerate(zip(records, results, strict=True)):
            if isinstance(result, RecordError):
                yield result
                continue
            before, after = tokens_in[number], tokens_out[number]
            sizes = {
                "tokens_in": before,
                "tokens_out": after,
                "chars_in": len(full[number]),
                "chars_out": len(result.context),
                "removed": round(1 - after / before, 4) if before else 0.0,
            }
            if (most := self._writer.budget(before)) is not None:
                sizes["max_tokens"] = most
            yield self._compressed(record, result, sizes, shares[number])

    def _counted(self, results: Sequence[_Result | RecordError]) -> list[int]:
        """Tokens of each context."""
        return self.counter.count([r.context if isinstance(r, _Result) else "" for r in results])

    def _results(
        self, records: Sequence[Record], tasks: Sequence[Task]
    ) -> list[_Result | RecordError]:
        return [
            self._result(record, task, selection)
            for record, task, selection in zip(
                records, tasks, self.method.select(tasks), strict=True
            )
        ]

    def _result(
        self,
        record: Record,
        task: Task,
        selection: Selection | RecordError,
        fallback: str | None = None,
    ) -> _Result | RecordError:
        """What becomes of a record; with `fallback` all contexts stay, for that reason."""
        if not record["question"].strip():
            message = f'record "{record["id"]}": the question is empty'
            return RecordError(message, kind="EmptyQuestion")
        if isinstance(selection, RecordError):
            return selection
        contexts = record.get("contexts", [])
        sentences = sum(len(passage.sentences) for passage in task.passages)
        if selection.text and sentences:
            return self._written(contexts, task, selection, selection.text, sentences)
        chosen = list[int]()
        if fallback is None:
            chosen, fallback = self._chosen(contexts, selection, sentences)
        judged, passed, everything = selection, chosen, list[Evidence]()
        if fallback in ("passthrough", "longer"):
            everything = whole(contexts)
            units = [Candidate([run], None) for run in everything]
            selection, chosen = Selection(units, []), list(range(len(units)))
        elif self.embedder is not None:
            chosen = self._distinct(self.embedder, task, selection, chosen)
        fill = leading if judged.leading else fit
        fitted = self._writer.fitted(contexts, task.passages, selection.units, chosen, fill)
        kept = without_overlaps(contexts, fitted.kept)
        if chosen and not kept:
            fallback = "nothing-fits"  # not one character within --max-tokens
        said = _said(judged, sentences, len({run.unit for run in kept}), fallback, fitted.cut)
        if self._writer.adaptive:
            said = {**said, "budget": "adaptive"}
            said.pop("borderline", None)  # there is no threshold to be near to
        why = None
        if self.options.explain:
            adaptive = self._writer.adaptive
            steps = Steps(passed, chosen, fitted.kept, kept, fallback, everything, adaptive)
            why = explain(task, judged, steps)
        return _Result(self._writer.text(contexts, kept, fitted.titles), kept, said, why)

    def _written(
        self,
        contexts: Sequence[Record],
        task: Task,
        selection: Selection,
        text: str,
        sentences: int,
    ) -> _Result:
        """What a model wrote, cut to the budget: it has no offsets."""
        context = self._writer.written(contexts, text)
        unplaced = Selection([], [], context_cut=selection.context_cut)
        fallback = None if context else "nothing-fits"
        said = _said(unplaced, sentences, None, fallback, len(text) - len(context))
        why = explain(task, unplaced, Steps((), (), (), ())) if self.options.explain else None
        return _Result(context, [], {**said, "verbatim": False}, why)

    def _chosen(
        self, contexts: Sequence[Record], selection: Selection, sentences: int
    ) -> tuple[list[int], str | None]:
        """Unit numbers, best first, and why the threshold did not choose them."""
        if sentences == 0:
            return [], "no-input"
        best_first = selection.best_first()
        if self._writer.adaptive:
            return self._writer.worthwhile(contexts, selection.units, best_first), None
        if selection.kept:
            passed = set(selection.kept)
            return [number for number in best_first if number in passed], None
        on_empty = self.options.on_empty
        return (best_first[:1] if on_empty == "keep-best" else []), on_empty

    def _distinct(
        self, embedder: Encoder, task: Task, selection: Selection, chosen: list[int]
    ) -> list[int]:
        from grasp_cli.compression.redundancy import distinct

        texts = [selection.units[number].text(task.passages) for number in chosen]
        order = distinct(
            [selection.units[number].score or 0.0 for number in chosen],
            embedder.embed(texts),
            texts,
            threshold=self.options.redundancy_threshold,
            mmr_lambda=self.options.mmr_lambda,
        )
        return [chosen[place] for place in order]

    def _compressed(
        self, record: Record, result: _Result, sizes: dict[str, Any], seconds: float
    ) -> Record:
        contexts = record.get("contexts", [])
        head = {
            "method": self.method.name,
            "profile": self.setting.profile,
            "dtype": self.setting.dtype,
            "tokenizer": self.counter.name,
        }
        spent = {"seconds": round(seconds, SECONDS_DECIMALS)}
        return {
            **record,
            "context": result.context,
            "evidence": [_evidence(contexts[item.passage], item) for item in result.kept],
            "compression": {**head, **sizes, **result.said, **spent},
            **_explained(contexts, result.why),
        }


class _Result(NamedTuple):
    context: str
    kept: list[Evidence]
    said: dict[str, Any]
    why: list[list[Record]] | None  # per context, its sentences explained


def _said(
    selection: Selection, sentences: int, kept: int | None, fallback: str | None, cut: int
) -> dict[str, Any]:
    """The counts of `compression`, without those that do not apply."""
    said = {
        "sentences": sentences,
        "after_coarse": selection.after_coarse,
        "units": len(selection.units) if selection.judged else None,
        "kept": kept,
        "fallback": fallback,
        "truncated": cut or None,
        "rescued": len(selection.rescued) or None,
        "borderline": selection.borderline or None,
        "context_cut_tokens": selection.context_cut or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _explained(contexts: Sequence[Record], why: list[list[Record]] | None) -> Record:
    if why is None:
        return {}
    entries = zip(contexts, why, strict=True)
    return {"explain": [{"context": context["id"], "sentences": own} for context, own in entries]}


def _evidence(context: Record, item: Evidence) -> Record:
    named = {key: context[key] for key in ("doc_id", "title") if context.get(key)}
    source = {}
    if has_source(context):
        spans = document_spans(context, item.start, item.end)
        source["source"] = [{"doc_id": d, "start": start, "end": end} for d, start, end in spans]
    return {
        "context": context["id"],
        **named,
        "start": item.start,
        "end": item.end,
        "text": context["text"][item.start : item.end],
        **source,
        "score": item.score,
        "unit": item.unit,
        "sentence": item.sentence,
    }


def _shares(tokens: list[int], seconds: float) -> list[float]:
    """Each record's share of the window's seconds, by its tokens."""
    total = sum(tokens)
    return [seconds * (count / total if total else 1 / len(tokens)) for count in tokens]
