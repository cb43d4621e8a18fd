"""Answering as a stage: which context is asked about, and what a record then says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from grasp_cli.compression.blocks import join_contexts
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import MissingError, RecordError, ServerGone
from grasp_cli.pipe.records import Record
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import Reader, Reply

_DECIMALS = 4  # of seconds


class Answering:
    """Asks `reader` about one record; `say` takes a line for stderr."""

    def __init__(
        self, reader: Reader, style: str, compare: bool, say: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._style = style
        self._compare = compare
        self._say = say
        self._said_cut = False

    def __call__(self, record: Record) -> Outcome:
        """The record with `answer` and `reader`, or why there is none."""
        try:
            return self._answered(record)
        except RecordError as error:
            return error

    def _answered(self, record: Record) -> Record:
        if self._compare and "contexts" not in record:
            raise RecordError("--compare needs the full contexts, and the record has none")
        context = context_of(record)
        reply = self._ask(record, context)
        answered = {**record, "answer": reply.text, "reader": self._reader_of(reply)}
        if not self._compare:
            return answered
        everything = join_contexts(record["contexts"])
        full = reply if everything == context else self._ask(record, everything)
        return {
            **answered,
            "answer_full": full.text,
            "reader_full": self._reader_of(full),
            "saved": saved(reply, full),
        }

    def _ask(self, record: Record, context: str) -> Reply:
        reply = self._reader.answer(Prompt(self._style, context, record["question"]))
        if reply.truncated and not self._said_cut:
            self._said_cut = True
            self._say(
                f'record "{record["id"]}": the context was longer than {self._reader.model} takes '
                "and was cut (said once; such records carry reader.truncated)"
            )
        return reply

    def _reader_of(self, reply: Reply) -> dict[str, Any]:
        told = {
            "name": self._reader.name,
            "model": self._reader.model,
            "dtype": reply.dtype,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "seconds": round(reply.seconds, _DECIMALS),
            "truncated": reply.truncated,
            "cached": reply.cached,
        }
        absent = {
            "dtype": None,
            "truncated": False,
            "cached": False,
        }  # said only where there is something to say
        return {key: value for key, value in told.items() if absent.get(key, ...) != value}


def context_of(record: Record) -> str:
    """What the reader sees: the compressed context, else all contexts as blocks."""
    if isinstance(record.get("context"), str):
        return str(record["context"])
    return join_contexts(record.get("contexts", []))


def saved(reply: Reply, full: Reply) -> dict[str, Any]:
    """Prompt tokens (None where a server does not count) and seconds less than with everything."""
    counted = reply.prompt_tokens is not None and full.prompt_tokens is not None
    return {
        "tokens": (full.prompt_tokens or 0) - (reply.prompt_tokens or 0) if counted else None,
        "seconds": round(full.seconds - reply.seconds, _DECIMALS),
    }


class AnswerInOrder:
    """One record after the other: for a model in this process."""

    name = "answer"
    window = 1  # each answer leaves at once; there are no batches to fill

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
        """Answers in order."""
        return map(self._answering, records)


class AnswerAtOnce:
    """Several records at once: for servers.

    Once the server is gone, the records that are left pass on with that error, or (`stop`) the run
    ends with `MissingError`.
    """

    name = "answer"

    def __init__(self, answering: Answering, workers: int, *, stop: bool = False) -> None:
        self.workers = workers
        self._answering = answering
        self._stop = stop

    def process_one(self, record: Record) -> Outcome:
        """One answer; called from several threads."""
        outcome = self._answering(record)
        if self._stop and isinstance(outcome, ServerGone):
            raise MissingError(f'{outcome}; stopped at record "{record["id"]}"')
        return outcome
