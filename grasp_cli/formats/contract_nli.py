"""ContractNLI (Koreeda and Manning 2021): whether contracts bear out 17 hypotheses.

`{documents: [{id, file_name, text, spans: [[start, end]], annotation_sets: [{annotations:
{label id: {choice, spans: [index]}}}]}], labels: {label id: {hypothesis}}}`.

The question is whether the hypothesis is true according to the contract: the answer is yes where
it is entailed and no where it is contradicted; what the contract does not mention is unanswerable
(`answers: []`). The choice is kept as `label`, the hypothesis's key as `hypothesis`. The context is
the whole contract, and gold evidence its marked spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grasp_cli.formats.base import ItemFormat, field, objects
from grasp_cli.formats.passages import gold_span, trimmed
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

ANSWERS = {"Entailment": ["yes"], "Contradiction": ["no"], "NotMentioned": []}
_BLANK = "spans of evidence are blank: left out"
_MORE_SETS = "contracts have several sets of annotations: the first is taken"


class ContractNLI(ItemFormat):
    """One record per contract and hypothesis; gold evidence is spans of the contract."""

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The records of a whole dataset, contract by contract."""
        labels = field(item, "labels", dict, where)
        hypotheses = {
            name: field(field(labels, name, dict, where), "hypothesis", str, f"{where}: {name}")
            for name in labels
        }
        for place, contract in objects(item, "documents", where):
            yield from self._contract(contract, hypotheses, place)

    def _contract(
        self, contract: Record, hypotheses: dict[str, str], where: str
    ) -> Iterator[Record]:
        identity, text = str(contract.get("id", "")), field(contract, "text", str, where)
        if not identity:
            raise DataError(f'{where}: "id" must be there; is it another format?')
        file = {"file_name": contract["file_name"]} if contract.get("file_name") else {}
        context = {"id": identity, "text": text, **file}
        annotations = self._annotations(contract, where)
        for name, hypothesis in hypotheses.items():
            record = {"id": f"{identity}/{name}", "question": question(hypothesis)}
            if name in annotations:
                place = f"{where}: {name}"
                annotation = field(annotations, name, dict, where)
                record |= self._gold(annotation, context, contract.get("spans"), place)
            elif annotations:
                continue  # this contract was not asked about that
            yield {**record, "contexts": [context], "hypothesis": name}

    def _annotations(self, contract: Record, where: str) -> Record:
        if not contract.get("annotation_sets"):
            return {}
        sets = list(objects(contract, "annotation_sets", where))
        self.notes[_MORE_SETS] += len(sets) > 1
        place, first = sets[0]
        annotations: Record = field(first, "annotations", dict, place)
        return annotations

    def _gold(self, annotation: Record, context: Record, spans: Any, where: str) -> Record:
        choice = field(annotation, "choice", str, where)
        if choice not in ANSWERS:
            raise DataError(f'{where}: "choice" must be one of {", ".join(ANSWERS)}, not {choice}')
        indexes = field(annotation, "spans", list, where) if annotation.get("spans") else []
        marked = [_span(context["text"], spans, index, where) for index in dict.fromkeys(indexes)]
        gold = [
            gold_span(context["id"], context["text"], start, end)
            for start, end in marked
            if start < end
        ]
        self.notes[_BLANK] += len(marked) - len(gold)
        known = {"evidence_gold": gold} if gold or not ANSWERS[choice] else {}
        return {"answers": list(ANSWERS[choice]), "label": choice, **known}


def question(hypothesis: str) -> str:
    """The question that a hypothesis makes."""
    return f"According to the contract, is this true: {hypothesis.strip().rstrip('.')}?"


def _span(text: str, spans: Any, index: Any, where: str) -> tuple[int, int]:
    """The span of that number, without white space at its ends."""
    try:
        start, end = spans[range(len(spans)).index(index)]
        if not 0 <= start < end <= len(text):
            raise ValueError
        return trimmed(text, start, end)
    except (TypeError, ValueError, LookupError):
        raise DataError(
            f"{where}: {index!r} must be the number of one of the contract's spans [start, end]"
        ) from None
