"""`grasp compress` as a user runs it, on models given by their directories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compression import tiny
from tests.conftest import Run, lines
from tests.models import tiny_causal

RECORDS = [
    {
        "id": str(number),
        "question": f"When did dam {number} burst?",
        "contexts": [
            {
                "id": f"c{number}{place}",
                "title": f"Dam {place}",
                "text": f"Dam {place} was built in 19{place}1. It burst in 1924! Nobody was hurt. "
                "The lake is gone now. A museum shows the last gate.",
            }
            for place in range(3)
        ],
    }
    for number in range(4)
]
STDIN = "".join(json.dumps(record) + "\n" for record in RECORDS)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("paper")
    return {
        "--coarse-model": tiny.t5(root / "t5"),
        "--embedder": tiny.bert(root / "bert"),
        "--classifier": tiny_causal.saved(root / "gemma", "gemma"),
    }


def given(models: dict[str, Path]) -> list[str]:
    return [str(part) for pair in models.items() for part in pair]


def checked(stdout: str) -> list[dict[str, Any]]:
    found = lines(stdout)
    assert [out["id"] for out in found] == [record["id"] for record in RECORDS]
    for record, out in zip(RECORDS, found, strict=True):
        texts = {context["id"]: context["text"] for context in record["contexts"]}
        assert out["context"]
        for item in out["evidence"]:
            assert item["text"] == texts[item["context"]][item["start"] : item["end"]]
    return found


def test_the_paper_profile_runs_on_models_by_path(grasp: Run, paper: dict[str, Path]) -> None:
    done = grasp("compress", "--profile", "paper", *given(paper), "--dtype", "float32",
                 "--device", "cpu", "--explain", stdin=STDIN)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("gemma on cpu, float32") == 1
    assert done.stderr.count("t5 on cpu, float32 (device as asked; float32 as asked)") == 1
    for out in checked(done.stdout):
        said = out["compression"]
        assert said["profile"] == "paper" and said["tokenizer"] == "gemma"
        assert said["after_coarse"] == 12 and said["sentences"] == 15
        assert 0 < said["units"] <= 12
        entries = [entry for item in out["explain"] for entry in item["sentences"]]
        assert len({entry["coarse"] for entry in entries}) > 6, "scores are those of a model"


def test_without_the_fine_step_only_the_coarse_filter_is_needed(
    grasp: Run, paper: dict[str, Path]
) -> None:
    coarse = str(paper["--coarse-model"])
    args = ["--profile", "paper", "--coarse-model", coarse, "--tokenizer", coarse]
    alone = grasp("compress", "--no-fine", *args, HF_HOME="nowhere", stdin=STDIN)
    method = grasp("compress", "--method", "quitox", *args, "--quiet", HF_HOME="nowhere",
                   stdin=STDIN)  # fmt: skip
    assert method.stderr == ""
    assert alone.returncode == method.returncode == 0, alone.stderr + method.stderr
    contexts = [[out["context"] for out in checked(done.stdout)] for done in (alone, method)]
    assert contexts[0] == contexts[1]


def test_each_missing_model_is_named_with_its_command(grasp: Run, paper: dict[str, Path]) -> None:
    done = grasp("compress", "--profile", "paper", "--embedder", "me/mine", stdin=STDIN,
                 HF_HOME="nowhere")  # fmt: skip
    assert done.returncode == 3 and done.stdout == ""
    found = done.stderr.splitlines()
    assert len(found) == 4
    for name, command in [
        ("google/flan-t5-small", "grasp models --get paper"),
        ("me/mine", "hf download me/mine"),
        ("doubleyyh/exit-gemma-2b", "grasp models --get paper"),
        ("google/gemma-2b-it", "grasp models --get paper"),
    ]:
        assert any(name in line and command in line for line in found), (name, found)
    given_now = grasp("compress", "--profile", "paper", *given(paper)[:2], stdin=STDIN,
                      HF_HOME="nowhere")  # fmt: skip
    assert given_now.returncode == 3 and "flan-t5" not in given_now.stderr


def test_a_cross_encoder_that_is_not_here_is_named(grasp: Run) -> None:
    done = grasp("compress", "--method", "cross-encoder", stdin=STDIN, HF_HOME="nowhere")
    assert done.returncode == 3
    assert "hf download cross-encoder/ms-marco-MiniLM-L-6-v2" in done.stderr


def test_budgets_markers_and_gaps_on_the_command_line(grasp: Run) -> None:
    lead = ["compress", "--method", "lead", "--lead-sentences", "2"]
    done = grasp(*lead, "--markers", "--top-k-spans", "2", "--max-tokens-per-doc", "20",
                 stdin=STDIN)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for record, out in zip(RECORDS, checked(done.stdout), strict=True):
        blocks = out["context"].split("\n\n")
        assert [block.partition("\n")[0] for block in blocks] == [
            f"[{context['id']}]" for context in record["contexts"][:2]
        ]
    wrong = grasp(*lead, "--budget", "adaptive", "--min-tokens", "2000", stdin=STDIN)
    assert wrong.returncode == 2 and "--min-tokens 2000 is more than --max-tokens" in wrong.stderr
