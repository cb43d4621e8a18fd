"""MuSiQue: 20 paragraphs a question, of which whole paragraphs are gold.

`{id, question, answer, answer_aliases, answerable, paragraphs: [{title, paragraph_text,
is_supporting}]}`. A title gives several paragraphs. A question of MuSiQue-Full with
`answerable: false` becomes one with no right answer (`answers: []`).
"""

from __future__ import annotations

from collections.abc import Iterator

from grasp_cli.formats.base import ItemFormat, field, question_id, rows
from grasp_cli.formats.passages import distinct, passage_id
from grasp_cli.pipe.records import Record


class MuSiQue(ItemFormat):
    """One record per question; gold evidence is paragraphs."""

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record of one question."""
        paragraphs = list(rows(item, "paragraphs", where))
        contexts = [_context(paragraph, place) for place, paragraph in paragraphs]
        record = {
            "id": question_id(item, f"q{self.count}"),
            "question": field(item, "question", str, where),
        }
        if item.get("answerable") is False:
            record["answers"] = []
        elif item.get("answer") is not None:
            aliases = map(str, item.get("answer_aliases") or [])
            record["answers"] = list(dict.fromkeys([field(item, "answer", str, where), *aliases]))
        record["contexts"] = distinct(contexts, self.notes)
        if any("is_supporting" in paragraph for _, paragraph in paragraphs):
            gold = [
                context["id"]
                for context, (_, paragraph) in zip(contexts, paragraphs, strict=True)
                if paragraph.get("is_supporting")
            ]
            record["evidence_gold"] = [{"id": document} for document in dict.fromkeys(gold)]
        yield record


def _context(paragraph: Record, where: str) -> Record:
    text = field(paragraph, "paragraph_text", str, where)
    title = paragraph.get("title") or ""
    return {"id": passage_id(title, text), "title": title, "text": text}
