"""Records with gold evidence as training examples: a question, its passages, labelled sentences."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.provenance import has_source, local_spans
from grasp_cli.pipe.records import Record
from grasp_cli.text.answers import literal_tokens

Labels = npt.NDArray[np.int8]
GOLD, OTHER, UNKNOWN = 1, 0, -1


@dataclass
class Example:
    """One question with labelled passages.

    `labels` holds per passage one value per sentence: gold, other, or unknown. Of the sentences
    in each set of `some` (passage, sentences) at least one is gold; their labels are unknown.
    """

    id: str
    source: str
    question: str
    answers: list[str]
    passages: list[Passage]
    labels: list[Labels]
    some: list[tuple[int, list[int]]] = field(default_factory=list)
    drawn: int = 0  # how many of the passages are negatives of other records

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the others of all files."""
        return self.source, self.id


def example(record: Record, source: str, splitter: str) -> Example:
    """The example of one record.

    A sentence that a gold span touches is gold. Where gold is a whole document, the sentences
    that hold an answer are gold; where none does, at least one sentence is, and which is unknown.
    Raises `DataError`, naming the record, where there is no gold or gold that is not in the texts.
    """
    where = f'{source}: record "{record.get("id")}"'
    gold = record.get("evidence_gold")
    if not gold:
        raise DataError(f'{where} has no "evidence_gold": grasp train needs it in every record')
    task = Task.of(record, splitter)
    answers = [str(answer) for answer in record.get("answers") or []]
    made = Example(
        str(record["id"]),
        source,
        task.question,
        answers,
        task.passages,
        [np.zeros(len(passage.sentences), np.int8) for passage in task.passages],
    )
    found = 0
    for entry in gold:
        _check(entry, where)
        for place, start, end in _places(record, entry, where):
            found += _mark(made, place, start, end)
    if not found:
        named = ", ".join(sorted({str(entry["id"]) for entry in gold})[:3])
        raise DataError(f"{where}: its gold evidence ({named}) is in none of its contexts")
    return made


def _check(entry: object, where: str) -> None:
    """Refuse a piece of gold that is not {id, start?, end?} with 0 ≤ start < end."""
    if isinstance(entry, dict) and isinstance(entry.get("id"), str):
        start, end = entry.get("start"), entry.get("end")
        if start is None and end is None:
            return
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            return
    raise DataError(
        f'{where}: "evidence_gold" must be a list of {{id, start?, end?}} with start < end, '
        f"not {entry!r}"
    )


def _places(
    record: Record, entry: Record, where: str
) -> Iterator[tuple[int, int | None, int | None]]:
    """Where a piece of gold lies: context number and offsets into its text."""
    for number, context in enumerate(record.get("contexts", [])):
        if entry["id"] not in (context["id"], context.get("doc_id")):
            continue
        if entry.get("start") is None:
            yield number, None, None
            continue
        if has_source(context):  # a node of a tree, of parts that need not be adjacent
            for first, last in local_spans(context, entry["start"], entry["end"]):
                yield number, first, last
            continue
        text: str = context["text"]
        whole = entry["id"] == context["id"]
        shift = 0 if whole else context.get("start") or 0
        start, end = entry["start"] - shift, entry["end"] - shift
        piece = f"gold evidence [{entry['start']}, {entry['end']})"
        if whole and end > len(text):
            raise DataError(
                f'{where}: {piece} ends behind the text of "{entry["id"]}" ({len(text)} characters)'
            )
        said = entry.get("text")
        if said is not None and start >= 0 and end <= len(text) and text[start:end] != said:
            raise DataError(
                f'{where}: {piece} of "{entry["id"]}" is {text[start:end]!r}, and its "text" is '
                f"{said!r}"
            )
        if start < len(text) and end > 0:
            yield number, start, end


def _mark(made: Example, place: int, start: int | None, end: int | None) -> int:
    passage, labels = made.passages[place], made.labels[place]
    if start is not None and end is not None:
        inside = [
            number
            for number, sentence in enumerate(passage.sentences)
            if sentence.start < end and start < sentence.end
        ]
        labels[inside] = GOLD
        return len(inside)
    holding = [
        number
        for number in range(len(passage.sentences))
        if any(_holds(passage.sentence(number), answer) for answer in made.answers)
    ]
    if holding:
        labels[holding] = GOLD
        return len(holding)
    if len(labels):
        labels[labels == OTHER] = UNKNOWN
        made.some.append((place, list(range(len(labels)))))
    return len(labels)


def _holds(text: str, answer: str) -> bool:
    """Whether the answer's tokens stand in a row in the text."""
    wanted, given = literal_tokens(answer), literal_tokens(text)
    size = len(wanted)
    return 0 < size <= len(given) and any(
        given[i : i + size] == wanted for i in range(len(given) - size + 1)
    )


def shortened(made: Example, count: int, rng: random.Random) -> Example | None:
    """The example with `count` of its passages, one with gold among them; None for no fewer.

    What a retriever finds for a small `-k`: often one gold passage, and the rest are not.
    """
    gold = [number for number, labels in enumerate(made.labels) if (labels == GOLD).any()]
    if not gold or len(made.passages) <= count:
        return None
    first = rng.choice(gold)
    others = [number for number in range(len(made.passages)) if number != first]
    chosen = sorted([first, *rng.sample(others, count - 1)])
    return replace(
        made,
        passages=[made.passages[old]._replace(number=new) for new, old in enumerate(chosen)],
        labels=[made.labels[old] for old in chosen],
        some=[(chosen.index(place), wanted) for place, wanted in made.some if place in chosen],
    )


def is_judged(made: Example) -> bool:
    """Whether sentences are known as gold, and others as not."""
    return all(any((own == label).any() for own in made.labels) for label in (GOLD, OTHER))


class Negatives:
    """Hard negatives: passages of other records that BM25 finds for a question."""

    def __init__(
        self, examples: Sequence[Example], depth: int, pool_of: Sequence[Example] | None = None
    ) -> None:
        """For `examples`, from the passages of `pool_of` (else of `examples`), to rank `depth`."""
        from grasp_cli.training.negatives import nearest

        pool: dict[tuple[str, str], Passage] = {}
        for made in examples if pool_of is None else pool_of:
            for passage in made.passages:
                pool.setdefault((passage.title, passage.text), passage)
        self._passages = list(pool.values())
        texts = [f"{passage.title}\n{passage.text}" for passage in self._passages]
        self._found = dict(
            zip(
                (made.key for made in examples),
                nearest(texts, [made.question for made in examples], depth),
                strict=True,
            )
        )

    def add(self, made: Example, count: int, rng: random.Random) -> Example:
        """The example with `count` negatives, drawn among those found for it.

        Passages of its own and passages that hold one of its answers are left out.
        """
        own = {(passage.title, passage.text) for passage in made.passages}
        allowed = [
            passage
            for number in self._found[made.key]
            if ((passage := self._passages[number]).title, passage.text) not in own
            and not any(_holds(passage.text, answer) for answer in made.answers)
        ]
        chosen = rng.sample(allowed, min(count, len(allowed)))
        size = len(made.passages)
        return Example(
            made.id,
            made.source,
            made.question,
            made.answers,
            made.passages + [p._replace(number=size + n) for n, p in enumerate(chosen)],
            made.labels + [np.zeros(len(p.sentences), np.int8) for p in chosen],
            made.some,
            made.drawn + len(chosen),
        )


def by_source(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """Examples by the file that they come from, in order."""
    found: dict[str, list[Example]] = {}
    for made in examples:
        found.setdefault(made.source, []).append(made)
    return found
