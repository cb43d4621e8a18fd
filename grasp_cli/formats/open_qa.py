"""Questions with short answers and no passages: NQ-open, TriviaQA, WebQuestions.

`{question, answer}` or `{question, answers}`, where the answer is a string, a list of strings, or
TriviaQA's `{value, aliases}`. What to read is still to be retrieved, so there is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grasp_cli.formats.base import ItemFormat, field, question_id
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record


class OpenQA(ItemFormat):
    """One record per question, with its answers alone."""

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record of one question."""
        given = item["answers"] if item.get("answers") is not None else item.get("answer")
        if given is None:
            field(item, "answer", str, where)  # says which keys there are
        yield {
            "id": question_id(item, f"q{self.count}"),
            "question": field(item, "question", str, where),
            "answers": list(dict.fromkeys(_answers(given, where))),
        }


def _answers(given: Any, where: str) -> list[str]:
    """All aliases; those that are only normalised forms of others are left out."""
    if isinstance(given, dict):
        aliases = field(given, "aliases", list, where) if given.get("aliases") else []
        given = [field(given, "value", str, f"{where}: answer"), *aliases]
    answers = given if isinstance(given, list) else [given]
    if not all(isinstance(answer, str) for answer in answers):
        raise DataError(f"{where}: the answers must be strings; is it another format?")
    return answers
