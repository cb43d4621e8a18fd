"""ASQA (Stelmakh et al. 2022): ambiguous questions with long answers.

The published `{"train": {id: item}, "dev": {id: item}}` (choose one with a split), an item a line
or a row of the Hugging Face hub, and ALCE's files with retrieved `docs`. An item is
`{ambiguous_question, qa_pairs: [{question, short_answers, context, wikipage}], annotations:
[{long_answer, knowledge: [{content, wikipage}]}]}`.

`answers` are the long answers; `qa_pairs` of the record, `[{question, short_answers}]`, is what
STR-EM and Disambig-F1 ask for. The contexts are the passages that the annotators used, so all of
them are gold evidence; where the file has retrieved passages, these are the contexts, and what is
gold among them is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from grasp_cli.formats.base import ItemFormat, field, objects, question_id
from grasp_cli.formats.passages import NameIds, distinct, passage_id
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record

_NO_CONTEXT = "No context provided"


class ASQA(ItemFormat):
    """One record per ambiguous question; gold evidence is passages."""

    holds_splits = True

    def __init__(self, split: str | None = None) -> None:
        super().__init__(split)
        self._ids = NameIds()

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record of one question, or those of a whole dataset."""
        if "qa_pairs" in item:
            yield self._record(item, where, f"q{self.count}")
            return
        for identity, question in self._questions(item, where).items():
            yield self._record(question, f"{where}: {identity}", identity)

    def _questions(self, item: Record, where: str) -> dict[str, Record]:
        """The questions by id of a whole dataset: of its only split, or of the one asked for."""
        values = list(item.values())
        if values and all(isinstance(value, dict) and "qa_pairs" in value for value in values):
            return item
        splits = {
            name: questions
            for name, questions in item.items()
            if isinstance(questions, dict)
            and all(isinstance(value, dict) for value in questions.values())
        }
        if not splits or len(splits) < len(item):
            field(item, "qa_pairs", list, where)  # says which keys there are
        if self.split is None and len(splits) > 1:
            raise UsageError(f"{where}: choose one of the splits {_names(splits)} with --split")
        chosen = self.split or next(iter(splits))
        if chosen not in splits:
            raise DataError(f'{where}: there is no split "{chosen}"; there are {_names(splits)}')
        return splits[chosen]

    def _record(self, item: Record, where: str, default: str) -> Record:
        name = "ambiguous_question" if "ambiguous_question" in item else "question"
        pairs = list(objects(item, "qa_pairs", where))
        record = {
            "id": str(item.get("sample_id") or question_id(item, default)),
            "question": field(item, name, str, where),
        }
        annotations = list(objects(item, "annotations", where)) if "annotations" in item else []
        if annotations:
            long = (
                field(annotation, "long_answer", str, place) for place, annotation in annotations
            )
            record["answers"] = list(dict.fromkeys(long))
        record["qa_pairs"] = [_pair(pair, place) for place, pair in pairs]
        if "docs" in item:
            docs = [self._doc(doc, place) for place, doc in objects(item, "docs", where)]
            return {**record, "contexts": distinct(docs, self.notes)}
        contexts = list({passage["id"]: passage for passage in _used(pairs, annotations)}.values())
        gold = [{"id": context["id"]} for context in contexts]
        return {**record, "contexts": contexts, **({"evidence_gold": gold} if gold else {})}

    def _doc(self, doc: Record, where: str) -> Record:
        text, title = field(doc, "text", str, where), doc.get("title") or ""
        identity = self._ids(str(doc["id"]), text) if doc.get("id") else passage_id(title, text)
        return {**doc, "id": identity, "title": title, "text": text}


def _pair(pair: Record, where: str) -> Record:
    short = field(pair, "short_answers", list, where)
    return {
        "question": field(pair, "question", str, where),
        "short_answers": list(dict.fromkeys(map(str, short))),
    }


def _used(
    pairs: list[tuple[str, Record]], annotations: list[tuple[str, Record]]
) -> Iterator[Record]:
    """The passages of the short answers, then those that the long answers rest on."""
    for _, pair in pairs:
        if pair.get("context") not in (None, "", _NO_CONTEXT):
            yield _passage(pair, "context")
    for place, annotation in annotations:
        if annotation.get("knowledge"):
            for _, piece in objects(annotation, "knowledge", place):
                if piece.get("content"):
                    yield _passage(piece, "content")


def _passage(piece: Record, key: str) -> Record:
    text, title = str(piece[key]), piece.get("wikipage") or ""
    return {"id": passage_id(title, text), "title": title, "text": text}


def _names(splits: dict[str, Record]) -> str:
    return ", ".join(splits)
