"""Options of `grasp evaluate`, and what its files are: which method on which dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from grasp_cli.evaluation.comparison import Evaluation, labels_of
from grasp_cli.evaluation.questions import file_name
from grasp_cli.evaluation.summary import Key
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, read_records

Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        show_default=False,
        help="The dataset of the first file, the second … (one for all, if given once), for "
        "records that have no key dataset.",
    ),
]
ByFolder = Annotated[
    bool,
    typer.Option(
        "--by-folder",
        help="A file's folder names its dataset (a gold file's too), its name the method, as in "
        "nq/grasp.jsonl.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="FILE|LABEL",
        show_default=False,
        help="Compare every row with this one: difference, interval and p value.",
    ),
]
QualityMetric = Annotated[
    str,
    typer.Option(
        "--quality",
        metavar="METRIC",
        help="The metric of the sentences and plots; evidence_recall where it is not known.",
    ),
]
Intervals = Annotated[
    bool, typer.Option("--intervals/--no-intervals", help="95 % bootstrap intervals of shares.")
]

Plot = Annotated[
    bool,
    typer.Option("--plot", help="Draw quality against tokens and against seconds in characters."),
]
QuestionCount = Annotated[
    int,
    typer.Option(
        "--questions", min=0, help="Questions in the HTML page, the worst losses; 0: all."
    ),
]


class Source(NamedTuple):
    """A file, and the row and dataset that it belongs to; `given` is False for a mere baseline."""

    path: Path
    label: str
    dataset: str = ""
    given: bool = True

    @property
    def name(self) -> str:
        """The file's name for messages."""
        return file_name(self.path)


def sources_of(
    paths: Sequence[Path],
    labels: Sequence[str],
    datasets: Sequence[str],
    by_folder: bool,
    baseline: str | None = None,
) -> list[Source]:
    """What the options say of each file; a baseline that is none of the files comes first.

    Files of one label are one method.
    """
    for name, given in (("--label", labels), ("--dataset", datasets)):
        if len(given) > len(paths):
            raise UsageError(f"{name} is given {len(given)} times for {len(paths)} files")
    if by_folder and (labels or datasets):
        raise UsageError("--by-folder takes labels and datasets from the paths: leave out the rest")
    if by_folder:
        return [Source(path, labels_of([path], [])[0], folder_of(path)) for path in paths]
    named = [*datasets] if len(datasets) > 1 else [*datasets] * len(paths)
    named += [""] * (len(paths) - len(named))
    found = [
        Source(path, label, dataset)
        for path, label, dataset in zip(paths, labels_of(paths, labels), named, strict=True)
    ]
    alone = Path(baseline) if baseline else None
    if alone is None or baseline in {each.label for each in found} or not alone.exists():
        return found
    if any(each.path.exists() and each.path.samefile(alone) for each in found):
        return found
    [label] = labels_of([alone], [])
    if label in {each.label for each in found}:
        label = str(alone)
    return [Source(alone, label, datasets[0] if len(datasets) == 1 else "", False), *found]


def baseline_label(sources: Sequence[Source], baseline: str | None) -> str | None:
    """The label of the row that `--baseline` means: its own, or that of the file."""
    if baseline is None or baseline in {each.label for each in sources}:
        return baseline
    path = Path(baseline)
    for each in sources:
        if each.path.exists() and path.exists() and each.path.samefile(path):
            return each.label
    return baseline


def folder_of(path: Path) -> str:
    """The dataset that a file's folder names."""
    if str(path) == "-":
        raise UsageError("--by-folder: standard input has no folder; give files")
    return path.resolve().parent.name


class Again:
    """Records that are read twice: files from disk, standard input from memory."""

    def __init__(self) -> None:
        self._kept: list[Record] = []

    def keeping(
        self, source: Source, add: Callable[[Record], Record]
    ) -> Callable[[Record], Record]:
        """`add`, which also keeps what comes from standard input."""
        if source.path != STDIN:
            return add

        def keep(record: Record) -> Record:
            self._kept.append(record)
            return add(record)

        return keep

    def records(
        self, sources: Sequence[Source], evaluations: Sequence[Evaluation]
    ) -> Iterator[tuple[str, Key, Record]]:
        """Label, key and record of all that were counted."""
        by_label = {each.label: each for each in evaluations}
        for source in sources:
            kept = source.path == STDIN
            for record in self._kept if kept else read_records([source.path], lambda bad: None):
                if key := by_label[source.label].key_of(record, source.dataset):
                    yield source.label, key, record
