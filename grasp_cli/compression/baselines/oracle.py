"""The gold evidence itself: what a perfect compressor would keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.passages import candidates, units_of
from grasp_cli.compression.tasks import Passage, Selection, Task
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.provenance import local_spans
from grasp_cli.pipe.records import Record
from grasp_cli.text.spans import Span


class Oracle:
    """Keeps every sentence that `evidence_gold` touches; of a document named whole, all."""

    name = "oracle"

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Gold sentences score 1, others 0."""
        return [_selection(task) for task in tasks]


def _selection(task: Task) -> Selection | RecordError:
    units = units_of(task, "sentence")
    gold = task.record.get("evidence_gold")
    if units and gold is None:
        return RecordError(
            "--method oracle needs evidence_gold, and the record has none; grasp convert writes it",
            kind="NoGold",
        )
    try:
        spans = [_gold_spans(task, passage, gold or []) for passage in task.passages]
    except (KeyError, TypeError, AttributeError) as error:
        return RecordError(
            f'"evidence_gold" must be a list of {{id, start?, end?}} with start < end: {error!r}',
            kind="BadGold",
        )
    kept = [
        number
        for number, unit in enumerate(units)
        if _touched(task.passages[unit.passage], unit.sentences[0], spans[unit.passage])
    ]
    found = set(kept)
    scores = [float(number in found) for number in range(len(units))]
    return Selection(candidates(task, units, scores), kept)


def _gold_spans(task: Task, passage: Passage, gold: Sequence[Record]) -> list[Span]:
    """The gold pieces of a passage's document, as offsets into the passage."""
    context = task.record["contexts"][passage.number]
    document = context.get("doc_id") or context["id"]
    own = [(piece.get("start"), piece.get("end")) for piece in gold if piece["id"] == document]
    spans: list[Span] = []
    for start, end in own:
        if start is None or end is None:
            return [(0, len(passage.text))]
        spans += local_spans(context, start, end)
    return spans


def _touched(passage: Passage, position: int, spans: Sequence[Span]) -> bool:
    sentence = passage.sentences[position]
    return any(start < sentence.end and sentence.start < end for start, end in spans)
