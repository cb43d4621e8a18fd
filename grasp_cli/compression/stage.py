"""The stage behind `grasp compress`: contexts in; `context`, `evidence`, `compression` out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grasp_cli.compression.blocks import compose, join_contexts, whole, without_overlaps
from grasp_cli.compression.tasks import Evidence, Method, Selection, Task
from grasp_cli.defaults import CompressDefaults
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError
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
        self, method: Method, counter: TokenCounter, options: CompressDefaults, setting: Setting
    ) -> None:
        self.method = method
        self.counter = counter
        self.options = options
        self.setting = setting
        self.window = options.window
        self._loaded = False

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        """One compressed record per record; see `pipe.engine.Stage`."""
        if not self._loaded:
            self.method.load()
            self._loaded = True
        started = time.perf_counter()
        full = [join_contexts(record.get("contexts", [])) for record in records]
        tokens_in = self.counter.count(full)
        outcomes = list(self._outcomes(records))
        contexts = [
            compose(record.get("contexts", []), found[0]) if isinstance(found, tuple) else ""
            for record, found in zip(records, outcomes, strict=True)
        ]
        tokens_out = self.counter.count(contexts)
        seconds = time.perf_counter() - started
        shares = _shares(tokens_in, seconds)
        for number, record in enumerate(records):
            found = outcomes[number]
            if isinstance(found, RecordError):
                yield found
                continue
            sizes = {
                "tokens_in": tokens_in[number],
                "tokens_out": tokens_out[number],
                "chars_in": len(full[number]),
                "chars_out": len(contexts[number]),
                "removed": round(1 - tokens_out[number] / (tokens_in[number] or 1), 4)
                if tokens_in[number]
                else 0.0,
            }
            yield self._compressed(record, contexts[number], *found, sizes, shares[number])

    def _outcomes(
        self, records: Sequence[Record]
    ) -> Iterator[tuple[list[Evidence], dict[str, Any]] | RecordError]:
        """Evidence and what is to be said of it, or why a record cannot be compressed."""
        tasks = [Task.of(record, self.setting.splitter) for record in records]
        selections = self.method.select(tasks)
        for record, task, selection in zip(records, tasks, selections, strict=True):
            if not record["question"].strip():
                yield RecordError(
                    f'record "{record["id"]}": the question is empty', kind="EmptyQuestion"
                )
            elif isinstance(selection, RecordError):
                yield selection
            else:
                yield self._settled(record, task, selection)

    def _settled(
        self, record: Record, task: Task, selection: Selection
    ) -> tuple[list[Evidence], dict[str, Any]]:
        contexts = record.get("contexts", [])
        kept, fallback = selection.kept, None
        sentences = sum(len(passage.sentences) for passage in task.passages)
        if sentences == 0:
            fallback = "no-input"
        elif not kept:
            fallback = self.options.on_empty
            replacement = {"keep-best": selection.best, "passthrough": whole(contexts), "empty": []}
            kept = replacement[fallback]
        kept = without_overlaps(contexts, kept)
        said: dict[str, Any] = {"sentences": sentences}
        if selection.after_coarse is not None:
            said["after_coarse"] = selection.after_coarse
        if selection.units is not None:
            said["units"] = selection.units
        said["kept"] = len({(item.passage, item.unit) for item in kept})
        if fallback:
            said["fallback"] = fallback
        if selection.borderline:
            said["borderline"] = selection.borderline
        return kept, said

    def _compressed(
        self,
        record: Record,
        context: str,
        kept: list[Evidence],
        said: dict[str, Any],
        sizes: dict[str, Any],
        seconds: float,
    ) -> Record:
        contexts = record.get("contexts", [])
        head = {
            "method": self.method.name,
            "profile": self.setting.profile,
            "dtype": self.setting.dtype,
            "tokenizer": self.counter.name,
        }
        return {
            **record,
            "context": context,
            "evidence": [_evidence(contexts[item.passage], item) for item in kept],
            "compression": {**head, **sizes, **said, "seconds": round(seconds, SECONDS_DECIMALS)},
        }


def _evidence(context: Record, item: Evidence) -> Record:
    named = {key: context[key] for key in ("doc_id", "title") if context.get(key)}
    return {
        "context": context["id"],
        **named,
        "start": item.start,
        "end": item.end,
        "text": context["text"][item.start : item.end],
        "score": item.score,
        "unit": item.unit,
        "sentence": item.sentence,
    }


def _shares(tokens: list[int], seconds: float) -> list[float]:
    """Each record's share of the window's seconds, by its tokens."""
    total = sum(tokens)
    return [seconds * (count / total if total else 1 / len(tokens)) for count in tokens]
