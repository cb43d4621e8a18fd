"""Whether a record keeps the contract: its schema, and what a schema cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from grasp_cli.pipe.schema import adapter

_SHOWN = 60  # characters of a value
_TAGS = (("done",), ("failed",))  # of `schema.adapter`, where a fault's place begins


class Fault(NamedTuple):
    """Where in a record something is wrong (`contexts[0].text`), and what."""

    path: str
    what: str


class Validator:
    """Checks parsed lines against the records of `stage`; ids must differ over all of them."""

    def __init__(self, stage: str) -> None:
        self._adapter: TypeAdapter[Any] = adapter(stage)
        self._seen: dict[str, str] = {}

    def faults(self, value: Any, where: str) -> Iterator[Fault]:
        """What is wrong with one line that stands at `where` ("file:line")."""
        try:
            self._adapter.validate_python(value)
        except ValidationError as error:
            for found in error.errors(include_url=False, include_context=False):
                place = found["loc"]
                yield Fault(_path(place[1:] if place[:1] in _TAGS else place), _what(found))
            return
        first = self._seen.setdefault(value["id"], where)
        if first != where:
            yield Fault("id", f"{_short(value['id'])} was used before, at {first}")
        if "error" not in value:
            yield from _misplaced(value)


def _misplaced(record: dict[str, Any]) -> Iterator[Fault]:
    """Evidence that is not the slice of a context that it says it is."""
    if "contexts" not in record:
        return
    texts = {context["id"]: context["text"] for context in record["contexts"]}
    if len(texts) < len(record["contexts"]):
        yield Fault("contexts", "two of them share an id")
    for number, item in enumerate(record.get("evidence", [])):
        path = f"evidence[{number}]"
        text = texts.get(item["context"])
        if text is None:
            yield Fault(f"{path}.context", f"there is no context {_short(item['context'])}")
        elif text[item["start"] : item["end"]] != item["text"]:
            span = f"contexts[{item['context']}].text[{item['start']}:{item['end']}]"
            yield Fault(f"{path}.text", f"is not {span}")


def _what(found: Any) -> str:
    if found["type"] == "missing":
        return "is missing"
    message = (
        found["msg"].replace("Input should be", "should be").replace("String should", "should")
    )
    return f"{message}, not {_short(found['input'])}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _path(place: Sequence[int | str]) -> str:
    path = ""
    for step in place:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "the record"
