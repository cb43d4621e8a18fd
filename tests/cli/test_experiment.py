"""`grasp experiment` on the sample data: its own file, with a reader of two layers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grasp_cli.cli.main import app
from tests.conftest import ROOT
from tests.experiment import recompute
from tests.readers.tiny import random_model

SAMPLE = ROOT / "sample_data"


def experiment(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sample_data/experiment.toml, but for its reader."""
    root = tmp_path_factory.mktemp("experiment")
    for name in ("questions.jsonl", "documents.jsonl"):
        (root / name).symlink_to(SAMPLE / name)
    reader = random_model(root / "reader")
    text = (SAMPLE / "experiment.toml").read_text()
    (root / "e.toml").write_text(text.replace("gemma-3-270m", str(reader)))
    return root


@pytest.mark.models
def test_the_sample_experiment(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = small / "out"
    done = experiment(small / "e.toml", "--limit", 3, "-o", out)
    assert done.exit_code == 0, done.output
    for method in ("none", "lead", "exit-style", "grasp"):
        assert f"velm × {method}: 3 questions, " in done.stderr
        cell = [json.loads(line) for line in (out / f"cells/velm/{method}.jsonl").open()]
        assert [len(record["contexts"]) for record in cell] == [5, 5, 5]
        assert all(record["reader"]["name"] == "transformers" for record in cell)
        assert (out / f"details_{method}.csv").is_file()
    assert sum(record["reader"].get("cached", False) for record in cell) > 0, "asked once"
    with (out / "final_benchmark_results.csv").open() as stream:
        found = {row["method"]: row for row in csv.DictReader(stream)}
    assert float(found["grasp"]["removed"]) > 0.5 > float(found["none"]["removed"]) == 0
    for method in ("lead", "grasp"):
        expected = recompute.numbers(out / f"cells/velm/{method}.jsonl")
        assert {key: float(found[method][key]) for key in expected} == pytest.approx(
            expected, abs=1.1e-4
        )
    printed = capfd.readouterr().out
    assert "velm" in printed and "exit-style" in printed
    assert "velm: grasp vs none: F1 " in done.stderr
    for name in ("report.html", "report.md", "report.csv", "report.json", "report.tex"):
        assert "exit-style" in (out / name).read_text()
    again = experiment(small / "e.toml", "--limit", 3, "-o", out, "--format", "json")
    assert [row["label"] for row in json.loads(capfd.readouterr().out)] == list(found)
    assert again.stderr.count("done before") == 4
    other = experiment(small / "e.toml", "--limit", 2, "-o", out)
    assert other.exit_code != 0 and "dataset.limit = 3 (now 2)" in str(other.exception)


def test_the_plan_of_the_published_setting(tmp_path: Path) -> None:
    done = experiment(SAMPLE / "paper.toml", "--dry-run", "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert done.stdout.count("to do") == 18
    assert "grasp, quantize = nf4" in done.stdout
    assert "30 retrieved, 5 kept" in done.stdout
    assert "hotpot_dev_distractor_v1.json: cannot be opened" in done.stderr
    assert not (tmp_path / "out").exists()
