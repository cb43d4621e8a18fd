"""What `grasp evaluate` writes: the table or page, the plot, the sentences, the scores."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import Metric
from grasp_cli.evaluation.summary import Key
from grasp_cli.pipe.log import is_terminal
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import open_sink
from grasp_cli.pipe.sources import STDIN
from grasp_cli.report.tables import FORMATS, PROGRAMS, Table, for_terminal

Labelled = Iterable[tuple[str, Key, Record]]  # label, key and record


@dataclass(frozen=True)
class Output:
    """Where and how: `records` is what -o names; `questions` how many a page shows (0: all)."""

    form: str
    records: Path | None
    quality: str
    intervals: bool
    plot: bool
    questions: int

    @property
    def aside(self) -> bool:
        """Whether standard output is for records, so that all else goes to stderr."""
        return self.records == STDIN

    def write(self, table: Table) -> None:
        """The table to standard output, or to stderr where the records go there."""
        if self.form == "table" and is_terminal(sys.stderr if self.aside else sys.stdout):
            typer.echo(for_terminal(table, self._width()), nl=False, err=self.aside)
        else:
            self._write_text(FORMATS[self.form](table))

    def write_methods(
        self, methods: Methods, metrics: Sequence[Metric], records: Labelled, notes: Sequence[str]
    ) -> None:
        """Table or page, plot and sentences of a comparison; a page reads the `records` again."""
        from grasp_cli.report.comparison_table import comparison_table

        table = comparison_table(
            methods, metrics, intervals=self.intervals, programs=self.form in PROGRAMS
        )
        if self.form == "html":
            self._write_text(self._page(methods, table, records, notes))
        else:
            self.write(table)
        for text in [*self._plots(methods), *self._sentences(methods)]:
            typer.echo(f"\n{text}", nl=False, err=self.aside or self.form != "table")

    def _page(self, methods: Methods, table: Table, records: Labelled, notes: Sequence[str]) -> str:
        from grasp_cli.report.evaluation_page import Report, page
        from grasp_cli.report.questions import fill, worst_questions

        questions = worst_questions(methods, self.quality, self.questions)
        fill(questions, methods, records)
        report = Report(methods, table, self.quality, notes)
        return "\n".join(page(report, list(questions.values())))

    def _plots(self, methods: Methods) -> Iterator[str]:
        if self.plot:
            from grasp_cli.report.pareto import plots
            from grasp_cli.report.pareto_terminal import drawn

            for plot in plots(methods, self.quality):
                yield drawn(plot, self._width())

    def _sentences(self, methods: Methods) -> Iterator[str]:
        if methods.baseline and self.form != "html":
            from grasp_cli.evaluation.differences import explained_tests

            if found := methods.told(self.quality):
                lines = [*(each.sentence() for each in found), f"({explained_tests(found)})", ""]
                yield "\n".join(lines)

    def _write_text(self, text: str) -> None:
        if self.aside:
            typer.echo(text.rstrip("\n"), err=True)
        else:
            with open_sink(None) as sink:
                sink.write_line(text.rstrip("\n").encode("utf-8", "replace"))

    def _width(self) -> int:
        from rich.console import Console

        if is_terminal(sys.stderr if self.aside else sys.stdout):
            return Console(stderr=self.aside).width
        return shutil.get_terminal_size((80, 24)).columns


def is_table(path: Path | None) -> bool:
    """Whether a file's name asks for a table of scores and not for records."""
    return path is not None and bool({".csv", ".tsv"} & set(path.suffixes[-2:]))
