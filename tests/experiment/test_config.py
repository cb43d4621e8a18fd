"""What a file may state, and what is said of one that states something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grasp_cli.cli.answer import answer
from grasp_cli.cli.compress import compress
from grasp_cli.cli.experiment import read
from grasp_cli.cli.index import index
from grasp_cli.cli.retrieve import retrieve
from grasp_cli.cli.variables import COMMAND_LINE_ONLY
from grasp_cli.cli.verb_options import checked
from grasp_cli.defaults import EXPERIMENT
from grasp_cli.pipe.errors import UsageError
from tests.conftest import ROOT
from tests.experiment.helpers import CONFIG

DATASET = '[[datasets]]\nname = "d"\nquestions = "q.jsonl"\n'
METHOD = '[[methods]]\nname = "grasp"\n'


def parsed(tmp_path: Path, text: str, **more: Any) -> Any:
    path = tmp_path / "e.toml"
    path.write_text(text)
    return read(path, **more)


def test_options_reach_the_methods_as_on_the_command_line(tmp_path: Path) -> None:
    options = 'preset = "tight", fine_threshold = 0.7, coarse = false, gap = " … ", max-tokens = 9'
    tight = f'{{name = "tight", method = "grasp", options = {{{options}}}}}'
    text = f'methods = ["none", {tight}]\n{DATASET}'
    plain, named = parsed(tmp_path, text).methods
    assert (plain.name, plain.method, plain.choices["method"]) == ("none", "none", "none")
    assert (named.name, named.method) == ("tight", "grasp")
    expected = {"preset": "tight", "fine_threshold": 0.7, "coarse": False, "gap": " … ",
                "max_tokens": 9, "fine": True, "profile": "embedded"}  # fmt: skip
    assert {key: named.choices[key] for key in expected} == expected
    assert named.given["fine-threshold"] == 0.7
    assert "output" not in named.choices and "threads" not in named.choices


def test_paths_are_relative_to_the_file_and_limits_fall_back(tmp_path: Path) -> None:
    other = DATASET.replace('"d"', '"e"')
    text = f"limit = 9\n{DATASET}limit = 4\n{other}{METHOD}"
    first, second = parsed(tmp_path, text).datasets
    assert first.questions == tmp_path / "q.jsonl"
    assert (first.limit, second.limit) == (4, 9)
    assert [dataset.limit for dataset in parsed(tmp_path, text, limit=2).datasets] == [2, 2]


def test_reader_and_baseline(tmp_path: Path) -> None:
    experiment = parsed(tmp_path, CONFIG)
    assert experiment.baseline == "none"
    assert experiment.reader.choices["reader_model"] == "stand-in"
    assert experiment.reader.choices["prompt"] == "strict"
    assert parsed(tmp_path, DATASET + METHOD).baseline is None
    assert parsed(tmp_path, DATASET + METHOD).reader is None
    assert parsed(tmp_path, 'baseline = "grasp"\n' + DATASET + METHOD).baseline == "grasp"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "not TOML"),
        ("", "datasets must be a list"),
        (DATASET, "methods must be a list"),
        ("retreive = {}\n" + DATASET + METHOD, '"retreive"; did you mean retrieve?'),
        (DATASET + "limt = 3\n" + METHOD, r'datasets\[1\]: no key "limt"; did you mean limit'),
        (DATASET + METHOD + "option = {}", "did you mean options?"),
        (DATASET + METHOD + "options = {fine-treshold = 1}", "did you mean fine-threshold?"),
        (DATASET + METHOD + "options = {fine-threshold = 'x'}", "options: Invalid value.*thresh"),
        (DATASET + METHOD + "options = {coarse-ratio = 7}", "options: Invalid value.*coarse-rat"),
        (DATASET + METHOD + "options = {preset = 'loose'}", "options: Invalid value.*preset"),
        (DATASET + METHOD + "options = {coarse = 1}", "coarse must be true or false"),
        (DATASET + METHOD + "options = {gap = ['a']}", "gap must be a number or a string"),
        (DATASET + METHOD + "options = {quiet = true}", 'no key "quiet"'),
        (DATASET + METHOD + "options = {profile = 'paper'}", "profile is stated once"),
        (DATASET + '[[methods]]\nname = "grsp"', r'method: no key "grsp"; did you mean grasp'),
        (DATASET + '[[methods]]\nname = "a b"', "name a file"),
        (DATASET + METHOD + METHOD.replace("grasp", "GRASP") + "method='exit'", "comes twice"),
        (DATASET + "format = 'hotpot'\n" + METHOD, "did you mean hotpotqa?"),
        (DATASET + METHOD + "datasets = ['f']", 'datasets of method grasp: no key "f"'),
        (DATASET + METHOD + "datasets = 'd'", "datasets must be a list"),
        (DATASET + "limit = 0\n" + METHOD, "limit must be 1 or more"),
        (DATASET + "limit = true\n" + METHOD, "limit must be a whole number"),
        (DATASET + "pool = true\ndocuments = 'x'\n" + METHOD, "contradict each other"),
        ('[[datasets]]\nname = "d"\n' + METHOD, "questions is missing"),
        ("profile = 'big'\n" + DATASET + METHOD, "embedded or paper"),
        ("baseline = 'non'\n" + DATASET + METHOD, 'baseline: no key "non"'),
        ("[reader]\nmodle = 'x'\n" + DATASET + METHOD, "reader: no key.*did you mean model"),
        ("reader = 'x'\n" + DATASET + METHOD, "must be a table"),
        ("[reader]\ncompare = true\n" + DATASET + METHOD, "compare has no place here"),
        ("[index]\nann = 'lsh'\n" + DATASET + METHOD, "index: Invalid value"),
        ("[retrieve]\ndirectory = 'x'\n" + DATASET + METHOD, 'retrieve: no key "directory"'),
    ],
)
def test_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        parsed(tmp_path, text)
    assert "e.toml" in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        read(tmp_path / "gone.toml")


def test_the_published_setting() -> None:
    paper = read(ROOT / "sample_data" / "paper.toml")
    assert [dataset.name for dataset in paper.datasets] == ["hotpotqa", "nq", "triviaqa"]
    assert [dataset.limit for dataset in paper.datasets] == [50, 50, 50]
    names = ["none", "recomp-extractive", "llmlingua2", "exit", "grasp", "nf4"]
    assert [method.name for method in paper.methods] == names
    assert paper.methods[-1].choices["quantize"] == "nf4"
    assert paper.profile == "paper" and paper.retrieve.choices["top_k"] == 30
    assert paper.reader and paper.reader.choices["reader"] == "ollama"
    assert paper.reader.choices["reader_model"] == "qwen2.5:3b"
    assert paper.top_k == EXPERIMENT.top_k and EXPERIMENT.retrieve == 30


def test_what_is_of_one_run_is_no_setting_of_an_experiment() -> None:
    for verb in (answer, compress, index, retrieve):
        names = {name.replace("_", "-") for name in checked(verb, {}, "file")}
        assert names and not names & {*COMMAND_LINE_ONLY, "threads", "quiet", "latency"}
