"""What a method is given and what it gives back. Sentences are offsets all the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.provenance import parts
from grasp_cli.pipe.records import Record
from grasp_cli.text import Segment, segment

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Passage(NamedTuple):
    """One context of a record: its text and where the sentences of that text are."""

    number: int  # position in the record's `contexts`
    title: str
    text: str
    sentences: list[Segment]
    breaks: tuple[int, ...] = ()  # where a part begins that does not follow in the document

    def sentence(self, position: int) -> str:
        """The text of one sentence."""
        found = self.sentences[position]
        return self.text[found.start : found.end]


class Unit(NamedTuple):
    """An evidence unit: sentences of one passage that are kept or dropped together."""

    passage: int
    sentences: tuple[int, ...]  # positions in the passage, ascending, not always adjacent

    def text(self, passage: Passage) -> str:
        """What a classifier reads: the sentences joined by one space (EP-EXIT)."""
        return " ".join(passage.sentence(position) for position in self.sentences)


class Evidence(NamedTuple):
    """A kept run of adjacent sentences of one unit; offsets into the context's text."""

    passage: int
    start: int
    end: int
    score: float | None
    unit: int
    sentence: int  # the first of the run
    block: bool  # whether an atomic block (code, table, list item) is in it


class Candidate(NamedTuple):
    """A unit that a method can keep: its runs of sentences and its score."""

    runs: list[Evidence]
    score: float | None

    def text(self, passages: Sequence[Passage]) -> str:
        """The texts of its runs, joined by one space."""
        return " ".join(passages[run.passage].text[run.start : run.end] for run in self.runs)


@dataclass(frozen=True)
class Task:
    """One question with its passages."""

    question: str
    passages: list[Passage]
    record: Record = field(default_factory=dict, repr=False)  # as it came: gold, ranks

    @classmethod
    def of(cls, record: Record, splitter: str) -> Task:
        """Segment the contexts of a record."""
        passages = [
            Passage(
                number,
                context.get("title") or "",
                context["text"],
                segment(context["text"], splitter),
                tuple(part.start for part in parts(context)[1:]),
            )
            for number, context in enumerate(record.get("contexts", []))
        ]
        return cls(record["question"], passages, record)


@dataclass(frozen=True)
class Selection:
    """What a method makes of one task: its units and which of them pass."""

    units: list[Candidate]
    kept: list[int]  # numbers of the units that pass, ascending
    after_coarse: int | None = None  # sentences that the coarse filter let through
    judged: bool = False  # whether a classifier scored the units
    borderline: int = 0  # units so near the threshold that rounding could decide
    context_cut: int = 0  # tokens that the classifier's inputs lost for being too long
    coarse: Sequence[npt.NDArray[np.float64]] | None = None  # scores: per passage, (sentences,)
    survivors: Sequence[Sequence[int]] | None = None  # per passage, what the filter let through
    rescued: Sequence[int] = ()  # numbers of kept units that passed only on a second hop
    text: str | None = None  # what a model wrote in place of the units; empty: nothing
    leading: bool = False  # a budget cuts the units off where it ends, instead of choosing

    def best_first(self) -> list[int]:
        """All unit numbers, highest score first, ties in reading order."""
        return sorted(
            range(len(self.units)), key=lambda unit: (-(self.units[unit].score or 0), unit)
        )


class Method(Protocol):
    """A way to choose sentences, for a window of tasks at once."""

    name: str

    def load(self) -> None:
        """Load the models, so that their loading is not counted as work."""
        ...

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """One selection per task, in order, or why there is none."""
        ...


def runs(
    passage: Passage, unit: int, positions: Iterable[int], score: float | None
) -> list[Evidence]:
    """Runs of adjacent positions as evidence; sentences of two parts are not adjacent."""
    found: list[list[int]] = []
    for position in positions:
        if found and found[-1][-1] == position - 1 and _follows(passage, position):
            found[-1].append(position)
        else:
            found.append([position])
    return [_evidence(passage, unit, run, score) for run in found]


def _follows(passage: Passage, position: int) -> bool:
    """Whether no part begins between a sentence and the one before it."""
    before, here = passage.sentences[position - 1].start, passage.sentences[position].start
    return not any(before < start <= here for start in passage.breaks)


def _evidence(passage: Passage, unit: int, run: list[int], score: float | None) -> Evidence:
    sentences = [passage.sentences[position] for position in run]
    return Evidence(
        passage.number,
        sentences[0].start,
        sentences[-1].end,
        score,
        unit,
        run[0],
        any(sentence.kind != "sentence" for sentence in sentences),
    )
