"""The record contract as types, stage by stage: one table for JSON Schema and for validation.

Each type adds the keys that its stage owns to those of the stage before it; what a stage only
sometimes writes is optional. Keys that are not ours are allowed everywhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, with_config
from typing_extensions import NotRequired, TypedDict

from grasp_cli.pipe.records import Record

_OURS_AND_YOURS = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(description="Negative only as a difference.")]
Text = Annotated[str, Field(min_length=1)]


@with_config(_OURS_AND_YOURS)
class Document(TypedDict):
    """A document for `grasp index`."""

    id: Text
    text: str
    title: NotRequired[str | None]


@with_config(_OURS_AND_YOURS)
class Gold(TypedDict):
    """Where the answer stands; without offsets the whole document."""

    id: Text
    start: NotRequired[Count | None]
    end: NotRequired[Count | None]
    text: NotRequired[str | None]


@with_config(_OURS_AND_YOURS)
class Context(TypedDict):
    """A passage; `start` and `end` are its place in the document `doc_id`, in characters."""

    id: Text
    text: str
    title: NotRequired[str | None]
    doc_id: NotRequired[Text | None]
    start: NotRequired[Count | None]
    end: NotRequired[Count | None]
    score: NotRequired[float | None]
    rank: NotRequired[Annotated[int, Field(ge=1)] | None]


@with_config(_OURS_AND_YOURS)
class Source(TypedDict):
    """A slice of a document's text, in characters."""

    doc_id: Text
    start: Count
    end: Count


@with_config(_OURS_AND_YOURS)
class Evidence(TypedDict):
    """A run of adjacent sentences that was kept: `contexts[context].text[start:end]`."""

    context: Text
    start: Count
    end: Count
    text: str
    score: float | None
    unit: Count
    sentence: Count
    doc_id: NotRequired[Text | None]
    title: NotRequired[str | None]
    source: NotRequired[list[Source]]


@with_config(_OURS_AND_YOURS)
class Compression(TypedDict):
    """What compressing removed; `removed` is 1 - tokens_out / tokens_in."""

    method: Text
    profile: Text
    dtype: Text
    tokenizer: Text
    tokens_in: Count
    tokens_out: Count
    chars_in: Count
    chars_out: Count
    removed: float
    seconds: Seconds
    sentences: NotRequired[Count]
    after_coarse: NotRequired[Count]
    units: NotRequired[Count]
    kept: NotRequired[Count]
    fallback: NotRequired[Text]
    truncated: NotRequired[Count]
    rescued: NotRequired[Count]
    borderline: NotRequired[Count]
    context_cut_tokens: NotRequired[Count]
    verbatim: NotRequired[bool]
    max_tokens: NotRequired[Count]
    latency: NotRequired[bool]


@with_config(_OURS_AND_YOURS)
class Reader(TypedDict):
    """Who answered, and at what cost; a count that a server does not tell is null."""

    name: Text
    model: Text
    prompt_tokens: Count | None
    completion_tokens: Count | None
    seconds: Seconds
    dtype: NotRequired[Text]
    truncated: NotRequired[bool]
    cached: NotRequired[bool]
    latency: NotRequired[bool]


@with_config(_OURS_AND_YOURS)
class Saved(TypedDict):
    """What the reader saved against the full contexts."""

    tokens: int | None
    seconds: Seconds


@with_config(_OURS_AND_YOURS)
class Failure(TypedDict):
    """Why a stage could not process the record; a later run may succeed where `retryable`."""

    stage: Text
    type: Text
    message: str
    retryable: bool


@with_config(_OURS_AND_YOURS)
class QaPair(TypedDict):
    """One meaning of an ambiguous question, for metrics of long answers."""

    question: str
    short_answers: list[str]


@with_config(_OURS_AND_YOURS)
class _Asked(TypedDict):
    """What every record has from the start."""

    id: Text
    question: str
    answers: NotRequired[list[str]]
    evidence_gold: NotRequired[list[Gold]]
    gold_titles: NotRequired[list[str]]
    qa_pairs: NotRequired[list[QaPair]]


@with_config(_OURS_AND_YOURS)
class Question(_Asked):
    """What goes into the pipe."""

    contexts: NotRequired[list[Context]]


@with_config(_OURS_AND_YOURS)
class Retrieved(_Asked):
    """What `grasp retrieve` writes."""

    contexts: list[Context]


@with_config(_OURS_AND_YOURS)
class Compressed(_Asked):
    """What `grasp compress` writes."""

    context: str
    evidence: list[Evidence]
    compression: Compression
    contexts: NotRequired[list[Context]]


@with_config(_OURS_AND_YOURS)
class _Piped(_Asked):
    """What stages may have added before."""

    contexts: NotRequired[list[Context]]
    context: NotRequired[str]
    evidence: NotRequired[list[Evidence]]
    compression: NotRequired[Compression]


@with_config(_OURS_AND_YOURS)
class Answered(_Piped):
    """What `grasp answer` writes; the last three with --compare."""

    answer: str
    reader: Reader
    answer_full: NotRequired[str]
    reader_full: NotRequired[Reader]
    saved: NotRequired[Saved]


@with_config(_OURS_AND_YOURS)
class Scored(_Piped):
    """What `grasp evaluate -o` writes; a record that has no gold has no scores."""

    answer: NotRequired[str]
    reader: NotRequired[Reader]
    scores: NotRequired[dict[str, float | None]]


@with_config(_OURS_AND_YOURS)
class Failed(TypedDict):
    """A record that some stage could not process: it passes through all later ones."""

    id: Text
    question: str
    error: Failure


STAGES: dict[str, Any] = {
    "document": Document,
    "question": Question,
    "retrieve": Retrieved,
    "compress": Compressed,
    "answer": Answered,
    "evaluate": Scored,
}
_WITHOUT_ERRORS = ("document", "question")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def adapter(stage: str) -> TypeAdapter[Any]:
    """Validates a parsed record of `stage` (a key of `STAGES`)."""
    if stage in _WITHOUT_ERRORS:
        return TypeAdapter(STAGES[stage])
    done = Annotated[STAGES[stage], Tag("done")]  # type: ignore[valid-type]
    failed = Annotated[Failed, Tag("failed")]
    return TypeAdapter(Annotated[done | failed, Discriminator(_kind)])


def _kind(record: Any) -> Literal["failed", "done"]:
    return "failed" if isinstance(record, dict) and "error" in record else "done"


def json_schema(stage: str) -> Record:
    """The JSON Schema (2020-12) of a record of `stage`."""
    schema = adapter(stage).json_schema()
    if "oneOf" in schema:  # a failed record may hold all that a done one does
        schema["anyOf"] = schema.pop("oneOf")
    title = f"a record of grasp {stage}" if stage not in _WITHOUT_ERRORS else f"a {stage} for grasp"
    return {"$schema": _DIALECT, "title": title, **schema}
