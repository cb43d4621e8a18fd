"""The output of a retriever as DPR writes it: Natural Questions, TriviaQA and others.

`{question, answers, ctxs: [{id?, title, text, …}]}`. Gold evidence is given only where a passage
says `isgold`; `hasanswer` is no gold (the string may stand there by chance). Other keys of a
passage are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from grasp_cli.formats.base import ItemFormat, field, question_id, rows
from grasp_cli.formats.passages import NameIds, distinct, passage_id
from grasp_cli.pipe.records import Record


class DPR(ItemFormat):
    """One record per question; gold evidence is passages, where marked."""

    def __init__(self, split: str | None = None) -> None:
        super().__init__(split)
        self._ids = NameIds()

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record of one question."""
        contexts = [self._context(passage, place) for place, passage in rows(item, "ctxs", where)]
        record = {
            "id": question_id(item, f"q{self.count}"),
            "question": field(item, "question", str, where),
        }
        if item.get("answers") is not None:
            record["answers"] = [str(answer) for answer in field(item, "answers", list, where)]
        record["contexts"] = distinct(contexts, self.notes)
        if any("isgold" in context for context in contexts):
            gold = [context["id"] for context in contexts if context.get("isgold")]
            record["evidence_gold"] = [{"id": document} for document in dict.fromkeys(gold)]
        yield record

    def _context(self, passage: Record, where: str) -> Record:
        text = field(passage, "text", str, where)
        title = passage.get("title") or ""
        given = next((passage[key] for key in ("id", "passage_id") if passage.get(key)), None)
        identity = passage_id(title, text) if given is None else self._ids(str(given), text)
        rest = {key: value for key, value in passage.items() if key not in ("id", "title", "text")}
        return {"id": identity, "title": title, "text": text, **rest}
