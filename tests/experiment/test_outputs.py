"""The tables of an experiment against numbers computed by other means from the cells."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.cli.experiment import read, tools_of
from grasp_cli.cli.options import Stream
from grasp_cli.experiment.folder import Folder
from grasp_cli.experiment.outputs import RESULTS, write_outputs
from grasp_cli.experiment.runner import Runner, Tools
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import Reply
from grasp_cli.readers.stage import Answering, AnswerInOrder
from tests.conftest import shared
from tests.experiment import recompute
from tests.experiment.helpers import CONFIG, Bench


class Words:
    """Answers with a few words of the context, which are right now and then."""

    name, model = "words", "none"

    def answer(self, prompt: Prompt) -> Reply:
        words = prompt.context.replace("\n", " ").split()
        return Reply(" ".join(words[:3]), len(words), 3, 0.5)


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def ran(bench: Bench) -> Path:
    runner = bench.runner()
    write_outputs(bench.folder, runner.run(), answered=bool(runner.experiment.reader))
    return bench.folder.root


def test_a_row_per_cell_and_a_line_per_question(tmp_path: Path) -> None:
    root = ran(Bench(tmp_path))
    none, lead = rows(root / RESULTS)
    assert (none["dataset"], none["method"], none["n"], none["failed"]) == (
        "mills",
        "none",
        "7",
        "0",
    )
    assert (none["em"], none["f1"], none["removed"], none["seconds"]) == (
        "1.0",
        "1.0",
        "0.0",
        "0.75",
    )
    assert (lead["em"], lead["removed"]) == ("0.0", "0.75")
    details = rows(root / "details_lead.csv")
    assert [row["id"] for row in details] == [f"q{number}" for number in range(7)]
    first = details[0]
    assert (first["dataset"], first["answers"], first["answer"]) == ("mills", "1874", "unknown")
    assert (first["tokens_in"], first["tokens_out"], first["seconds_answer"]) == ("20", "5", "0.5")


def test_without_a_reader_there_is_no_score_of_answers(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CONFIG.replace('[reader]\nmodel = "stand-in"', ""))
    _, lead = rows(ran(bench) / RESULTS)
    assert (lead["em"], lead["f1"], lead["removed"], lead["seconds"]) == ("", "", "0.75", "0.25")
    assert rows(bench.folder.root / "details_lead.csv")[0]["em"] == ""


def test_two_cells_recomputed_by_an_independent_script(tmp_path: Path) -> None:
    data = shared("data/hotpotqa/dev.json")
    config = tmp_path / "e.toml"
    config.write_text(f"""
        limit = 40
        datasets = [{{name = "hotpotqa", questions = "{data}", format = "hotpotqa"}}]
        methods = ["none", "lead", {{name = "half", method = "random", options = {{rate = 0.5}}}}]
    """)
    experiment = read(config)
    made = tools_of(experiment, Stream("experiment", [], quiet=True), 1)
    reader = AnswerInOrder(Answering(Words(), "strict", False, print))
    tools = Tools(made.build_index, made.open_index, made.compressor, reader)
    folder = Folder(tmp_path / "out")
    cells = Runner(experiment, folder, tools, print).run()
    write_outputs(folder, cells, answered=True)
    found = {row["method"]: row for row in rows(folder.root / RESULTS)}
    for method in ("lead", "half"):
        expected = recompute.numbers(folder.root / "cells" / "hotpotqa" / f"{method}.jsonl")
        assert 0 < expected["f1"] < 1 and 0 < expected["evidence_recall"] < 1
        for name, value in expected.items():
            assert float(found[method][name]) == pytest.approx(value, abs=1.1e-4), (method, name)
    assert found["none"]["evidence_recall"] == "1.0" and found["none"]["removed"] == "0.0"
