"""The report of an experiment: its methods side by side, in every format that reports have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grasp_cli.defaults import EVALUATE
from grasp_cli.evaluation.cells import Cell as Answered
from grasp_cli.evaluation.cells import compare
from grasp_cli.evaluation.differences import explained_tests
from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import ANSWER_METRICS, BY_NAME, Metric, main_metrics
from grasp_cli.evaluation.summary import Key
from grasp_cli.experiment.folder import Folder, write_whole
from grasp_cli.experiment.runner import Cell, Failure
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import read_records
from grasp_cli.report.comparison_table import comparison_table
from grasp_cli.report.evaluation_page import Report, page
from grasp_cli.report.questions import fill, worst_questions
from grasp_cli.report.tables import FORMATS, PROGRAMS, Table

# Format of the report -> its file in the folder.
FILES = {
    "md": "report.md",
    "html": "report.html",
    "csv": "report.csv",
    "json": "report.json",
    "latex": "report.tex",
}
_OF_ANSWERS = {"missing", *(metric.name for metric in ANSWER_METRICS)}


class ExperimentReport:
    """What is said of the cells that are there; `baseline` is left out where it is not."""

    def __init__(
        self,
        folder: Folder,
        cells: Sequence[Cell],
        *,
        answered: bool,
        baseline: str | None,
        failures: Sequence[Failure] = (),
    ) -> None:
        self._folder = folder
        self._cells = cells
        self._answered = answered
        self._quality = EVALUATE.quality if answered else "evidence_recall"
        self._failures = failures
        there = any(cell.method.name == baseline for cell in cells)
        self._methods: Methods = compare(
            (Answered(cell.dataset.name, cell.method.name, folder.cell(*cell)) for cell in cells),
            baseline=baseline if there else None,
        )

    def table(self, form: str) -> Table:
        """The comparison, for people with the main metrics, for programs with all."""
        programs = form in PROGRAMS
        metrics = tuple(BY_NAME.values())
        shown = metrics if programs else main_metrics(metrics)
        return comparison_table(self._methods, self._measured(shown), programs=programs)

    def sentences(self) -> list[str]:
        """Each method against the baseline, and what the numbers are."""
        found = self._methods.sentences(self._quality)
        return [*found, f"({explained_tests(self._methods.differences)})"] if found else []

    def notes(self) -> list[str]:
        """What a reader of the report must know: cells that are not there."""
        lacking = [f"{each.cell} is not there: {each.message}" for each in self._failures]
        return [*lacking, *self._methods.notes()]

    def text(self, form: str) -> str:
        """The report in one format."""
        if form == "html":
            return self._page()
        text = FORMATS[form](self.table(form)).rstrip("\n") + "\n"
        if form == "md":
            below = [*self.sentences(), *self.notes()]
            text += "".join(f"\n{line}\n" for line in below)
        return text

    def write(self) -> None:
        """Every format into the folder."""
        for form, name in FILES.items():
            content = self.text(form).encode("utf-8", "replace")
            write_whole(self._folder.root / name, content)

    def _measured(self, metrics: Sequence[Metric]) -> list[Metric]:
        """Without a reader there are no answers to score."""
        return [one for one in metrics if self._answered or one.name not in _OF_ANSWERS]

    def _page(self) -> str:
        questions = worst_questions(self._methods, self._quality, EVALUATE.questions)
        fill(questions, self._methods, self._records())
        report = Report(self._methods, self.table("html"), self._quality, self.notes())
        return "\n".join(page(report, list(questions.values()))) + "\n"

    def _records(self) -> Iterator[tuple[str, Key, Record]]:
        for cell in self._cells:
            for record in read_records([self._folder.cell(*cell)]):
                yield cell.method.name, Key(cell.dataset.name, record["id"]), record
