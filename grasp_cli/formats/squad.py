"""SQuAD 1.1 and 2.0, XQuAD and others of their shape.

`{data: [{title, paragraphs: [{context, qas: [{id, question, answers}]}]}]}`, an answer being
`{text, answer_start}`, or one article a line, or a question a line as the Hugging Face hub has it
(`{id, title, context, question, answers: {text: […], answer_start: […]}}`). Questions on one
paragraph share its context. Gold evidence is the answers' spans; offsets that miss the answer's
text are moved to its nearest occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from grasp_cli.formats.base import ItemFormat, field, objects, question_id, rows
from grasp_cli.formats.passages import gold_span, passage_id, trimmed
from grasp_cli.pipe.records import Record

_MOVED = "answers are not where their offset says: moved to the nearest occurrence"
_NOT_FOUND = "answers are not in their paragraph: kept as the whole document"


class SQuAD(ItemFormat):
    """One record per question; gold evidence is the answers' spans."""

    def __init__(self, split: str | None = None) -> None:
        super().__init__(split)
        self._questions = 0

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The records of a whole dataset, of one article, or of one question."""
        if "question" in item and isinstance(item.get("context"), str):
            yield from self._paragraph(_title(item), {**item, "qas": [item]}, where)
            return
        articles = objects(item, "data", where) if "data" in item else [(where, item)]
        for place, article in articles:
            title = _title(article)
            for below, paragraph in objects(article, "paragraphs", place):
                yield from self._paragraph(title, paragraph, below)

    def _paragraph(self, title: str, paragraph: Record, where: str) -> Iterator[Record]:
        text = field(paragraph, "context", str, where)
        context = {"id": passage_id(title, text), "title": title, "text": text}
        for place, question in objects(paragraph, "qas", where):
            self._questions += 1
            record = {
                "id": question_id(question, f"q{self._questions}"),
                "question": field(question, "question", str, place),
                "contexts": [context],
            }
            yield record | self._answers(question, context, place)

    def _answers(self, question: Record, context: Record, where: str) -> Record:
        if question.get("answers") is None:
            return {}
        answers = list(rows(question, "answers", where))
        texts = dict.fromkeys(field(answer, "text", str, place) for place, answer in answers)
        gold: list[Record] = []
        for place, answer in answers:
            entry = self._gold(answer, context, place)
            if entry not in gold:
                gold.append(entry)
        return {"answers": list(texts), "evidence_gold": gold}

    def _gold(self, answer: Record, context: Record, where: str) -> Record:
        text, wanted = context["text"], answer["text"]
        start = field(answer, "answer_start", int, where)
        if text[start : start + len(wanted)] != wanted or start < 0:
            places = _occurrences(text, wanted)
            self.notes[_MOVED if places else _NOT_FOUND] += 1
            if not places:
                return {"id": context["id"]}
            start = min(places, key=lambda place: abs(place - start))
        start, end = trimmed(text, start, start + len(wanted))
        return gold_span(context["id"], text, start, end) if end > start else {"id": context["id"]}


def _title(item: Record) -> str:
    return unquote(str(item.get("title") or "")).replace("_", " ")


def _occurrences(text: str, part: str) -> list[int]:
    places, start = [], text.find(part) if part else -1
    while start >= 0:
        places.append(start)
        start = text.find(part, start + 1)
    return places
