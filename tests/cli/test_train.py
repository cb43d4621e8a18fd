"""`grasp train evidence`, and compressing with what it makes, as a user runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from grasp_cli.cli.main import main
from grasp_cli.models.evidence_weights import read_config
from tests.conftest import Run, lines
from tests.training.synthetic import Trained, records, written

SMALL = ["--epochs", "1", "--batch-tokens", "1500", "--encoder-rate", "0.003", "--held-back", "0.2",
         "--negatives", "1", "--rank", "4", "--dtype", "float32", "--device", "cpu",
         "--threads", "1"]  # fmt: skip
Inside = Callable[..., tuple[int, str]]


@pytest.fixture
def inside(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Inside:
    """Run `grasp ARGS…` in this process, where torch is imported: exit code and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*args: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["grasp", *map(str, args)])
        capfd.readouterr()
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        else:
            code = 0
        captured = capfd.readouterr()
        assert captured.out == "", "data goes to files here"
        return code, captured.err

    return run


def test_train_and_then_compress_with_it(grasp: Run, evidence: Trained, tmp_path: Path) -> None:
    """In processes of their own; `bert` and `mine` are relative to where the command runs."""
    written(tmp_path / "r.jsonl", records(40))
    (tmp_path / "bert").symlink_to(evidence.base)
    done = grasp("train", "evidence", "r.jsonl", "-o", "mine", "--base", "bert", *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" and "held-back AUC" in done.stderr and "validation " in done.stderr
    assert "mine: 0.0 MB" in done.stderr or "mine: 0.1 MB" in done.stderr
    card = (tmp_path / "mine" / "README.md").read_text()
    assert "by `grasp train evidence r.jsonl -o mine --base bert" in card
    questions = records(6, seed=5)
    stdin = "".join(orjson.dumps(row).decode() + "\n" for row in questions)
    path = str(tmp_path / "mine")
    out = grasp("compress", "--classifier", path, "--embedder", path, "--coarse-model", path,
                "--threads", "1", stdin=stdin)  # fmt: skip
    assert out.returncode == 0, out.stderr
    for row, found in zip(questions, lines(out.stdout), strict=True):
        texts = {context["id"]: context["text"] for context in row["contexts"]}
        assert found["context"] and found["evidence"]
        for item in found["evidence"]:
            assert item["text"] == texts[item["context"]][item["start"] : item["end"]]
        assert found["compression"]["tokenizer"] == evidence.base.name
        assert found["compression"]["method"] == "grasp"


@pytest.fixture
def compressed(inside: Inside, evidence: Trained, tmp_path: Path) -> Callable[..., list[Any]]:
    """The records that `grasp compress` makes with the trained classifier."""
    file = written(tmp_path / "q.jsonl", records(12, seed=3))

    def run(*args: object) -> list[Any]:
        output = tmp_path / "out.jsonl"
        code, said = inside("compress", file, "-o", output, "--classifier", evidence.directory,
                            "--quiet", "--threads", "1", *args)  # fmt: skip
        assert code == 0, said
        return lines(output.read_text())

    return run


def kept(found: list[Any]) -> list[set[tuple[str, int]]]:
    return [{(i["context"], i["start"]) for i in out["evidence"]} for out in found]


def test_tight_keeps_no_more_than_balanced_and_that_no_more_than_recall(
    compressed: Callable[..., list[Any]],
) -> None:
    """Kept units, so that what stands in for nothing kept does not count."""
    args = ["--on-empty", "empty", "--no-coarse"]
    recall, balanced, tight = (
        kept(compressed("--preset", name, *args)) for name in ("recall", "balanced", "tight")
    )
    for most, middle, least in zip(recall, balanced, tight, strict=True):
        assert least <= middle <= most
    sizes = [sum(map(len, found)) for found in (tight, balanced, recall)]
    assert sizes[0] < sizes[2] and sizes[1] > 0
    assert kept(compressed(*args)) == balanced, "balanced is the default"


def test_an_explicit_threshold_wins(compressed: Callable[..., list[Any]]) -> None:
    found = compressed("--preset", "tight", "--fine-threshold", "0", "--no-coarse")
    assert [out["compression"]["removed"] for out in found] == [0.0] * 12


def test_the_classifier_serves_in_all_roles_and_with_hops(
    compressed: Callable[..., list[Any]], evidence: Trained
) -> None:
    named = compressed("--embedder", evidence.directory, "--coarse-model", evidence.directory)
    assert kept(named) == kept(compressed())
    assert len(compressed("--hops", "2")) == 12
    assert len(compressed("--method", "exit", "--preset", "recall")) == 12


def test_a_preset_without_a_trained_classifier(
    inside: Inside, evidence: Trained, tmp_path: Path
) -> None:
    file = written(tmp_path / "q.jsonl", records(1))
    base = ["--classifier", evidence.base, "--embedder", evidence.base]
    code, said = inside("compress", file, "-o", "o", "--coarse-model", evidence.base, *base,
                        "--preset", "tight")  # fmt: skip
    assert code == 2 and "--preset tight needs a trained evidence classifier" in said
    assert "--fine-threshold" in said and not (tmp_path / "o").exists()
    assert inside("compress", file, "-o", "o", "--preset", "loose")[0] == 2


def test_an_output_that_holds_a_model_is_refused(inside: Inside, evidence: Trained) -> None:
    before = read_config(evidence.directory)
    code, said = inside("train", "evidence", evidence.file, "-o", evidence.directory, *SMALL,
                        "--base", evidence.base)  # fmt: skip
    assert code == 2 and "already holds a model: give another -o" in said
    assert read_config(evidence.directory) == before


def test_what_is_not_there_is_said(inside: Inside, evidence: Trained, tmp_path: Path) -> None:
    assert inside("train", "evidence", "no.jsonl", "-o", "m")[0] == 2
    assert "there is no file no.jsonl" in inside("train", "evidence", "no.jsonl", "-o", "m")[1]
    args = ["train", "evidence", evidence.file, "-o", "m", "--base"]
    code, said = inside(*args, "me/none")
    assert code == 3 and "me/none" in said
    (tmp_path / "other").mkdir()
    same = written(tmp_path / "other" / evidence.file.name, records(1))
    code, said = inside(*args, evidence.base, same)
    assert code == 2 and "two of the files have the same name" in said
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"evidence_gold": []}, 'no "evidence_gold"'),
        (
            {"evidence_gold": [{"id": "gone"}]},
            "its gold evidence (gone) is in none of its contexts",
        ),
        ({"evidence_gold": [{"id": "7-0", "start": 0, "end": 999}]}, "ends behind the text"),
    ],
)
def test_bad_gold_names_its_record(
    inside: Inside, evidence: Trained, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    rows = records(20)
    rows[7] |= change
    file = written(tmp_path / "bad.jsonl", rows)
    code, said = inside("train", "evidence", file, "-o", "m", "--base", evidence.base)
    assert code == 4 and 'bad.jsonl: record "q7"' in said and named in said
    assert not (tmp_path / "m").exists()


def test_no_records_is_bad_input(inside: Inside, evidence: Trained, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    code, said = inside("train", "evidence", "empty.jsonl", "-o", "m", "--base", evidence.base)
    assert code == 4 and "0 records with gold are too few" in said


def test_quiet_says_nothing_and_the_options_are_used(
    inside: Inside, evidence: Trained, tmp_path: Path
) -> None:
    written(tmp_path / "r.jsonl", records(40))
    code, said = inside("train", "evidence", "r.jsonl", "-o", "m", *SMALL, "--quiet", "--seed", "7",
                        "--records-per-epoch", "11", "--patience", "5", "--positive-weight", "2",
                        "--head-rate", "0.002", "--base", evidence.base)  # fmt: skip
    assert (code, said) == (0, "")
    card = (tmp_path / "m" / "README.md").read_text()
    for text in ("epochs 1,", "batch_tokens 1500,", "encoder_rate 0.003,", "head_rate 0.002,",
                 "positive_weight 2.0,", "negatives 1,", "records_per_epoch 11", "held_back 0.2,",
                 "patience 5,", "rank 4,", "seed 7,", "dtype float32"):  # fmt: skip
        assert text in card
