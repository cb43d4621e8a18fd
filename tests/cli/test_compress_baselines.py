"""Baselines of `grasp compress` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.compression import tiny
from tests.compression.baselines.helpers import TEXTS, record
from tests.conftest import Run, lines

STDIN = json.dumps(record(evidence_gold=[{"id": "c2"}])) + "\n"


def test_a_method_comes_with_its_published_settings(grasp: Run, tmp_path: Path) -> None:
    model = str(tiny.bert(tmp_path / "bert"))
    args = ["compress", "--method", "recomp-extractive", "--compressor", model, "--quiet"]
    two, one = (
        grasp(*args, "--tokenizer", model, *more, stdin=STDIN)
        for more in ([], ["--top-k-spans", "1", "--unit", "sentence"])
    )
    assert two.returncode == one.returncode == 0, two.stderr + one.stderr
    (out,) = lines(two.stdout)
    assert out["compression"]["method"] == "recomp-extractive"
    assert [item["text"] in TEXTS for item in out["evidence"]] == [True, True]
    (out,) = lines(one.stdout)
    assert len(out["evidence"]) == 1 and out["evidence"][0]["text"] not in TEXTS


def test_a_published_model_that_is_not_here_is_named(grasp: Run) -> None:
    done = grasp("compress", "--method", "recomp-extractive", stdin=STDIN, HF_HOME="nowhere")
    assert done.returncode == 3 and done.stdout == ""
    assert "hf download fangyuan/nq_extractive_compressor" in done.stderr


def test_methods_without_models_need_none(grasp: Run) -> None:
    for method in ("truncate", "random", "top-k-passages", "oracle"):
        done = grasp("compress", "--method", method, stdin=STDIN)
        assert done.returncode == 0, done.stderr
        (out,) = lines(done.stdout)
        assert 0 < len(out["context"]) < sum(map(len, TEXTS)), method
        assert out["compression"]["method"] == method


def test_a_share_outside_of_0_to_1_is_a_usage_error(grasp: Run) -> None:
    done = grasp("compress", "--method", "truncate", "--rate", "20", stdin=STDIN)
    assert done.returncode == 2 and "--rate" in done.stderr


def test_latency_and_budget_are_recorded(grasp: Run) -> None:
    args = ("compress", "--method", "truncate", "--max-tokens", "9", "--latency", "--quiet")
    done = grasp(*args, stdin=STDIN)
    (out,) = lines(done.stdout)
    assert out["compression"]["latency"] is True
    assert out["compression"]["max_tokens"] == 9 >= out["compression"]["tokens_out"]
    (rate,) = lines(grasp("compress", "--method", "truncate", stdin=STDIN).stdout)
    said = rate["compression"]
    assert said["max_tokens"] == int(said["tokens_in"] * 0.2) and "latency" not in said
    (row,) = json.loads(grasp("evaluate", "--format", "json", stdin=done.stdout).stdout)
    assert (row["budget_kept"], row["verbatim"], row["seconds_compress"]) == (1, 1, None)
    assert row["latency_compress"] >= 0
