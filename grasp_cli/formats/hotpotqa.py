"""HotpotQA (distractor and fullwiki) and 2WikiMultiHopQA, which shares its shape.

`{_id, question, answer, type, level, supporting_facts: [[title, sentence]], context: [[title,
[sentences]]]}`. HotpotQA's sentences carry their own leading spaces (and some are cut inside a
word), so a paragraph is their plain concatenation; 2WikiMultiHopQA's do not, so a space goes
between.
The column shape of the Hugging Face hub (`{title: […], sentences: […]}`) is read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grasp_cli.formats.base import ItemFormat, field, question_id
from grasp_cli.formats.passages import NameIds, distinct, gold_span, trimmed
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

Span = tuple[int, int]
_ABSENT = "supporting facts name a document that is not among the contexts: kept without offsets"
_NO_SENTENCE = "supporting facts name a sentence that is not there: kept as the whole document"


class HotpotQA(ItemFormat):
    """One record per question; gold evidence is sentences."""

    def __init__(self, split: str | None = None) -> None:
        super().__init__(split)
        self._ids = NameIds()

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record of one question."""
        paragraphs = _pairs(item, "context", ("title", "sentences"), where)
        joint = _joint([sentences for _, sentences in paragraphs])
        contexts, spans = [], []
        for title, sentences in paragraphs:
            text = joint.join(sentences)
            contexts.append({"id": self._ids(title, text), "title": title, "text": text})
            spans.append(_sentence_spans(text, sentences, len(joint)))
        record = {
            "id": question_id(item, f"q{self.count}"),
            "question": field(item, "question", str, where),
        }
        if item.get("answer") is not None:
            record["answers"] = [field(item, "answer", str, where)]
        record["contexts"] = distinct(contexts, self.notes)
        if item.get("supporting_facts") is not None:
            facts = _pairs(item, "supporting_facts", ("title", "sent_id"), where)
            record["evidence_gold"] = self._gold(facts, contexts, spans)
        yield record | {key: item[key] for key in ("type", "level") if item.get(key)}

    def _gold(
        self, facts: list[tuple[str, int]], contexts: list[Record], spans: list[list[Span]]
    ) -> list[Record]:
        gold: list[Record] = []
        for title, number in facts:
            entry = self._gold_entry(title, number, contexts, spans)
            if entry not in gold:
                gold.append(entry)
        return gold

    def _gold_entry(
        self, title: str, number: int, contexts: list[Record], spans: list[list[Span]]
    ) -> Record:
        named = [place for place, context in enumerate(contexts) if context["title"] == title]
        for place in named:
            start, end = spans[place][number] if 0 <= number < len(spans[place]) else (0, 0)
            if start < end:
                return gold_span(contexts[place]["id"], contexts[place]["text"], start, end)
        self.notes[_NO_SENTENCE if named else _ABSENT] += 1
        return {"id": contexts[named[0]]["id"] if named else title}


def _joint(paragraphs: list[list[str]]) -> str:
    """What stands between sentences: nothing where any of them brings its own space."""
    own = any(sentence[:1].isspace() for sentences in paragraphs for sentence in sentences[1:])
    return "" if own else " "


def _sentence_spans(text: str, sentences: list[str], joint: int) -> list[Span]:
    spans, start = [], 0
    for sentence in sentences:
        spans.append(trimmed(text, start, start + len(sentence)))
        start += len(sentence) + joint
    return spans


def _pairs(item: Record, key: str, columns: tuple[str, str], where: str) -> list[tuple[Any, Any]]:
    """Pairs, given as a list of them or as an object of two columns; types are checked."""
    value = item.get(key)
    if isinstance(value, dict):
        value = list(zip(*(field(value, column, list, where) for column in columns), strict=False))
    else:
        value = field(item, key, list, where)
    for position, pair in enumerate(value):
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and _typed(*pair)):
            raise DataError(f"{where}: {key}[{position}] must be a pair of {' and '.join(columns)}")
    return [(title, other) for title, other in value]


def _typed(title: Any, other: Any) -> bool:
    strings = isinstance(other, list) and all(isinstance(part, str) for part in other)
    return isinstance(title, str) and (strings or isinstance(other, int))
