"""The report of an experiment: what is there, against what, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

from grasp_cli.experiment.report import FILES, ExperimentReport
from grasp_cli.experiment.runner import Runner
from tests.experiment.helpers import CONFIG, Bench

TWO = CONFIG + '\n[[datasets]]\nname = "few"\nquestions = "mills.jsonl"\nlimit = 4\n'


def reported(runner: Runner) -> ExperimentReport:
    cells = runner.run()
    experiment = runner.experiment
    report = ExperimentReport(
        runner.folder,
        cells,
        answered=experiment.reader is not None,
        baseline=experiment.baseline,
        failures=runner.failures,
    )
    report.write()
    return report


def test_every_format_has_each_dataset_and_all_together(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO)
    report = reported(bench.runner())
    rows = json.loads((tmp_path / "out" / "report.json").read_text())
    found = [(row["dataset"], row["label"], row["n"]) for row in rows]
    assert found == [
        ("mills", "none", 7), ("mills", "lead", 7), ("few", "none", 4), ("few", "lead", 4),
        ("overall", "none", 11), ("overall", "lead", 11),
    ]  # fmt: skip
    lead = rows[1]
    assert (lead["em"], lead["em_diff"], lead["baseline"]) == (0.0, -1.0, "none")
    assert lead["em_p"] == 2 / 2**7, "all seven questions lost"
    for name in FILES.values():
        text = (tmp_path / "out" / name).read_text()
        assert "lead" in text and "mills" in text
    assert "mills: lead vs none: F1 -100.0 [-100.0, -100.0]" in report.sentences()[0]
    assert report.sentences()[0] in (tmp_path / "out" / "report.md").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "When was mill 3 built?" in page and 'src="http' not in page


def test_without_a_reader_no_answer_is_scored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CONFIG.replace('[reader]\nmodel = "stand-in"', ""))
    report = reported(bench.runner())
    [first, _] = json.loads(report.text("json"))
    assert "em" not in first and "f1" not in first and first["removed"] == 0
    assert "EM" not in report.text("table")
    assert "evidence" in report.sentences()[0]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.missing = {"none"}
    report = reported(bench.runner())
    assert report.sentences() == []
    assert report.notes()[0] == "mills × none is not there: no model of none:; get it"
    assert report.notes()[0] in (tmp_path / "out" / "report.md").read_text()
