"""OpenAI's Batch API: records to requests for their answers, and its output to answers.

A request is one line `{custom_id, method, url, body}` with the prompt that `grasp answer --reader
openai` sends; `custom_id` is the record's id. A line of output is `{custom_id, response:
{status_code, body}, error}`; it is joined to the records that the requests were made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from grasp_cli.defaults import ANSWER
from grasp_cli.formats.base import Sources
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, read_lines, read_records

ENDPOINT = "/v1/chat/completions"
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000  # of one file (OpenAI's Batch API reference)
_FAILED = "records have an error: left out"
_MANY = "requests are more than OpenAI takes in one file (50,000 requests, 200 MB): split it"
_UNKNOWN = "answers belong to none of the records: left out"
_NOT_TRIED_AGAIN = (400, 401, 403, 404)
_RETRYABLE_CODES = ("batch_expired", "batch_cancelled")


class BatchRequests:
    """Lines of requests; `style` is the prompt's and decides the longest answer, if not given."""

    def __init__(self, model: str, style: str, max_new_tokens: int | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._model = model
        self._style = style
        longest = {"strict": ANSWER.max_new_tokens, "natural": ANSWER.natural_max_new_tokens}
        self._max_new_tokens = max_new_tokens or longest[style]

    def lines(self, records: Iterable[Record]) -> Iterator[str]:
        """One line a record, in their order, without line ends."""
        from grasp_cli.readers.openai import OpenAIReader
        from grasp_cli.readers.prompts import Prompt
        from grasp_cli.readers.reader import ReaderSettings
        from grasp_cli.readers.stage import context_of

        settings = ReaderSettings(model=self._model, max_new_tokens=self._max_new_tokens)
        reader = OpenAIReader(settings)
        count = size = 0
        for record in records:
            if "error" in record:
                self.notes[_FAILED] += 1
                continue
            prompt = Prompt(self._style, context_of(record), record["question"])
            request = {
                "custom_id": record["id"],
                "method": "POST",
                "url": ENDPOINT,
                "body": reader.request(prompt),
            }
            line = json_lines.dumps(request)
            count, size = count + 1, size + len(line) + 1
            yield line.decode()
        self.notes[_MANY] = count if count > MOST_REQUESTS or size > MOST_BYTES else 0


class BatchAnswers:
    """The answers of a batch in the records that were asked about, in the records' order.

    A record without an answer gets an `error`; records that have one already pass through.
    `failed` counts the new ones.
    """

    def __init__(self, sources: Sources) -> None:
        self.notes: Counter[str] = Counter()
        self.failed = 0
        self._sources = sources
        if sources.corpus or sources.index:
            raise UsageError("--corpus and -x are for trec-run, not for openai-batch")

    def records(self, paths: list[Path]) -> Iterator[Record]:
        """Every record of the questions, with `answer` and `reader`, or with `error`."""
        asked = self._sources.needed_questions("openai-batch")
        given = _outputs(paths)
        for record in read_records([asked]):
            output = given.pop(record["id"], None)
            if "error" not in record:
                record = record | _answered(output)
                self.failed += "error" in record
            yield record
        self.notes[_UNKNOWN] += len(given)


def _outputs(paths: list[Path]) -> dict[str, Record]:
    """Lines by custom id; an answer stands for a failure of the same id, as after a second try."""
    given: dict[str, Record] = {}
    for path in paths:
        for number, line in read_lines(path):
            where = f"{'stdin' if path == STDIN else path}:{number}"
            output = json_lines.loads(line, where)
            identity = output.get("custom_id") if isinstance(output, dict) else None
            if not isinstance(identity, str) or not {"response", "error"} & set(output):
                raise DataError(
                    f"{where}: expected a line of a batch's output, with custom_id and response"
                    + ("; this is a request" if identity and "body" in output else "")
                )
            before = given.get(identity)
            if before is not None and _text(before) is not None and _text(output) is not None:
                raise DataError(f'{where}: the custom_id "{identity}" is answered twice')
            if before is None or _text(before) is None:
                given[identity] = output
    return given


def _text(output: Record) -> str | None:
    """The answer, None where there is none."""
    response = output.get("response")
    if not isinstance(response, dict) or response.get("status_code", 200) != 200:
        return None
    try:
        text = response["body"]["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    return text.strip() if isinstance(text, str) else None


def _answered(output: Record | None) -> Record:
    """The keys that a record gets: `answer` and `reader`, or `error`."""
    if output is None:
        return {"error": _error("NoAnswer", "the batch has no line for this record", True)}
    text = _text(output)
    if text is None:
        return {"error": _failure(output)}
    body = output["response"]["body"]
    usage = body.get("usage") or {}
    told = {
        "name": "openai",
        "model": body.get("model"),
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
    }
    return {"answer": text, "reader": told}


def _failure(output: Record) -> Record:
    response: Any = output.get("response")
    response = response if isinstance(response, dict) else {}
    body: Any = response.get("body")
    inner = body.get("error") if isinstance(body, dict) else None
    said = next((one for one in (output.get("error"), inner) if isinstance(one, dict)), {})
    status, code = response.get("status_code"), said.get("code")
    shown = said.get("message") or code or "the answer is not what OpenAI sends"
    retryable = code in _RETRYABLE_CODES or (status or 200) not in (200, *_NOT_TRIED_AGAIN)
    status_shown = f" (HTTP {status})" if status not in (None, 200) else ""
    return _error("RequestFailed", f"the batch's request failed{status_shown}: {shown}", retryable)


def _error(kind: str, message: str, retryable: bool) -> Record:
    return {"stage": "answer", "type": kind, "message": message, "retryable": retryable}
