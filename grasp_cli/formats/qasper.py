"""QASPER (Dasigi et al. 2021): questions on papers, with the paragraphs that answer them.

The published `{paper id: {title, abstract, full_text: [{section_name, paragraphs}], qas}}`, a row
of the Hugging Face hub (the same in columns), or a paper a line whose text is already one string:
`{doc_id, text, qas: [{question, answer, evidence}]}`. A question's `answers` are those of its
annotators: `{unanswerable, extractive_spans, yes_no, free_form_answer, evidence}`.

The context of a question is its whole paper: abstract, headings, paragraphs and the captions of
figures and tables, blank lines between. Gold evidence is the spans of the paragraphs that any
annotator marked. A question that all annotators found unanswerable has `answers: []`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grasp_cli.formats.base import ItemFormat, field, question_id, rows
from grasp_cli.formats.passages import gold_span, trimmed
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

_FLOAT = "FLOAT SELECTED: "
_NOT_FOUND = "pieces of evidence are not in their paper: kept as the whole document"
_REPEATED = "paragraphs of evidence stand in their paper more than once: the first is taken"
_DISPUTED = "questions are unanswerable to some annotators: the answers of the others are kept"


@dataclass(frozen=True)
class Answer:
    """What one annotator said: a text, or None for "unanswerable", and the evidence."""

    text: str | None
    evidence: list[str]


class QASPER(ItemFormat):
    """One record per question; gold evidence is paragraphs, as spans of the paper's text."""

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The records of one paper, or of a whole dataset."""
        if "qas" in item:
            yield from self._paper(item, where, f"paper{self.count}")
            return
        papers = {key: paper for key, paper in item.items() if isinstance(paper, dict)}
        if not papers or len(papers) < len(item):
            field(item, "qas", list, where)  # says which keys there are
        for identity, paper in papers.items():
            yield from self._paper(paper, f"{where}: {identity}", identity)

    def _paper(self, item: Record, where: str, default: str) -> Iterator[Record]:
        identity = str(item.get("doc_id") or item.get("id") or default)
        title = {"title": item["title"]} if item.get("title") else {}
        context = {"id": identity, **title, "text": _text(item, where)}
        for number, (place, question) in enumerate(rows(item, "qas", where), start=1):
            answers = list(_answers(question, place))
            record = {
                "id": question_id(question, f"{identity}/{number}"),
                "question": field(question, "question", str, place),
            }
            yield {**record, **self._gold(answers, context), "contexts": [context]}

    def _gold(self, answers: list[Answer], context: Record) -> Record:
        """`answers` and `evidence_gold`, each where it is known."""
        if not answers:
            return {}
        texts = [answer.text for answer in answers if answer.text is not None]
        self.notes[_DISPUTED] += 0 < len(texts) < len(answers)
        gold: list[Record] = []
        for answer in answers:
            for piece in answer.evidence if answer.text is not None else []:
                entry = self._span(piece, context)
                if entry not in gold:
                    gold.append(entry)
        known = {"evidence_gold": gold} if gold or not texts else {}
        return {"answers": list(dict.fromkeys(texts)), **known}

    def _span(self, piece: str, context: Record) -> Record:
        wanted = piece.removeprefix(_FLOAT).strip()
        text, start = context["text"], context["text"].find(wanted) if wanted else -1
        if start < 0:
            self.notes[_NOT_FOUND] += 1
            return {"id": context["id"]}
        self.notes[_REPEATED] += text.find(wanted, start + 1) >= 0
        start, end = trimmed(text, start, start + len(wanted))
        return gold_span(context["id"], text, start, end)


def _text(item: Record, where: str) -> str:
    """The paper as one text; each paragraph stands there as it was given."""
    if isinstance(item.get("text"), str):
        return str(item["text"])
    parts = [field(item, "abstract", str, where)] if item.get("abstract") else []
    for place, section in rows(item, "full_text", where):
        paragraphs = field(section, "paragraphs", list, place)
        parts += [part for part in (section.get("section_name"), *paragraphs) if part]
    if item.get("figures_and_tables"):
        floats = rows(item, "figures_and_tables", where)
        parts += [one["caption"] for _, one in floats if one.get("caption")]
    if not all(isinstance(part, str) for part in parts):
        raise DataError(f"{where}: the parts of a paper must be strings; is it another format?")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _answers(question: Record, where: str) -> Iterator[Answer]:
    """What the annotators said; nothing where the question is not annotated."""
    if question.get("answer") is not None:
        evidence = _strings(question, "evidence", where)
        yield Answer(field(question, "answer", str, where), evidence)
    elif question.get("answers"):
        for place, given in rows(question, "answers", where):
            answer = field(given, "answer", dict, place)
            yield Answer(_said(answer, place), _strings(answer, "evidence", place))


def _said(answer: Record, where: str) -> str | None:
    """The answer as the authors' evaluation has it; None for "unanswerable"."""
    if answer.get("unanswerable"):
        return None
    if spans := _strings(answer, "extractive_spans", where):
        return ", ".join(spans)
    if isinstance(answer.get("yes_no"), bool):
        return "Yes" if answer["yes_no"] else "No"
    return str(field(answer, "free_form_answer", str, where))


def _strings(item: Record, key: str, where: str) -> list[str]:
    values: list[Any] = field(item, key, list, where) if item.get(key) is not None else []
    return [str(value) for value in values if value]
