"""Small trainings of the evidence classifier: they learn, repeat, go on, and stop."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.models.evidence_network import EvidenceNetwork
from grasp_cli.models.evidence_weights import CONFIG, WEIGHTS, read_config
from grasp_cli.models.locate import sha256_of
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.training import checkpoint
from grasp_cli.training.directory import curve
from grasp_cli.training.evidence_examples import Example, by_source, example
from grasp_cli.training.evidence_finish import measure
from grasp_cli.training.evidence_training import Trainer
from grasp_cli.training.parameters import trained as is_trained
from grasp_cli.training.split import split
from tests.compression import tiny
from tests.training.synthetic import SETTINGS, Trained, records, trained, written

FILES = ["README.md", CONFIG, WEIGHTS, "log.jsonl"]


def some(count: int, source: str = "f", seed: int = 0) -> list[Example]:
    return [example(row, source, "rule") for row in records(count, seed)]


# -- what is held back --------------------------------------------------------------------------


def gold_texts(examples: list[Example]) -> set[str]:
    return {
        passage.text
        for made in examples
        for passage, labels in zip(made.passages, made.labels, strict=True)
        if labels.any()
    }


def test_no_gold_passage_is_on_both_sides() -> None:
    examples = some(40, "one") + some(60, "two", seed=1)
    examples += [replace(made, id=f"again {made.id}") for made in examples]
    training, held = split(examples, 0.25, 20, 0)
    assert [len(own) for own in by_source(held).values()] == [20, 20]
    assert not gold_texts(training) & gold_texts(held)
    used = {made.key for made in training + held}
    left_out = [made for made in examples if made.key not in used]
    assert left_out and all(gold_texts([made]) <= gold_texts(held) for made in left_out)


def test_a_passage_in_which_some_sentence_is_gold_is_on_one_side_too() -> None:
    rows = records(8)
    for row in rows:
        row["evidence_gold"] = [{"id": row["contexts"][0]["id"]}]
        row["contexts"][0]["text"] = "The same. In all."
    training, held = split([example(row, "f", "rule") for row in rows], 0.25, 20, 0)
    assert len(held) == 2 and not training


def test_the_seed_decides_what_is_held_back() -> None:
    examples = some(40)
    keys = [[made.key for made in split(examples, 0.25, 20, seed)[1]] for seed in (0, 0, 1)]
    assert keys[0] == keys[1] != keys[2]
    assert [len(split(examples, share, 7, 0)[1]) for share in (0.1, 0.9)] == [4, 7]


# -- a whole training ---------------------------------------------------------------------------


def test_it_learns_what_holds_on_other_records(evidence: Trained) -> None:
    entries = [orjson.loads(line) for line in (evidence.directory / "log.jsonl").open("rb")]
    values = [entry["auc"] for entry in entries if "auc" in entry]
    assert len(values) == 3 and max(values) > 0.75 and max(values) > values[0] + 0.05
    assert evidence.done.whole.questions == 16 and evidence.done.whole.auc == max(values)
    fresh = [example(row, "new", "rule") for row in records(40, seed=9)]
    assert measure(EvidenceHead(evidence.directory, threads=1), fresh).auc > 0.75


def test_the_directory_is_whole_and_says_what_it_is(evidence: Trained) -> None:
    assert sorted(file.name for file in evidence.directory.iterdir()) == FILES
    config = read_config(evidence.directory)
    assert config.base == str(evidence.base), "a path from the root, wherever it is used"
    assert config.weights_sha256 == sha256_of([evidence.directory / WEIGHTS])
    assert config.base_sha256 == sha256_of([evidence.base / "model.safetensors"])
    card = (evidence.directory / "README.md").read_text()
    said = "\n".join(evidence.said)
    count = re.search(r"^(\d+) questions to train on, 16 held back, 21 steps on cpu", said)
    assert count and 50 < int(count[1]) <= 64
    of = f"records.jsonl ({count[1]} questions); 16 questions were held back"
    for text in (of, f"| {evidence.done.whole.auc} |", "| tight |", "epochs 3", "by `c`"):
        assert text in card
    assert "held-back AUC" in said and "validation " in said and " min left" in said


def test_stored_and_whole_weights_judge_alike(evidence: Trained) -> None:
    assert abs(evidence.done.whole.auc - evidence.done.stored.auc) < 0.05


class Interrupted(Exception):
    """A stand-in for the user's ^C."""


def raising_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    left = [calls]

    def wrapped(*args: Any, **options: Any) -> Any:
        done = function(*args, **options)
        left[0] -= 1
        if not left[0]:
            raise Interrupted
        return done

    return wrapped


def test_interrupted_twice_it_ends_in_the_same_bytes(
    evidence: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fixture's training is the one without interruption, with the same seed."""
    directory = tmp_path / "model"
    said: list[str] = []

    def go() -> None:
        trained(evidence.file, directory, evidence.base, said.append)

    with monkeypatch.context() as patch:  # amid the training, after its first checkpoint
        patch.setattr(checkpoint, "save", raising_after(1, checkpoint.save))
        with pytest.raises(Interrupted):
            go()
    assert not (directory / CONFIG).exists()
    with pytest.raises(DataError, match="other options or data: give another output directory"):
        trained(evidence.file, directory, evidence.base, epochs=4)
    with monkeypatch.context() as patch:  # at the end, when all but the calibration is made
        finishing = "grasp_cli.training.evidence_finish._calibrated"
        patch.setattr(finishing, raising_after(1, lambda *given: None))
        with pytest.raises(Interrupted):
            go()
    assert not (directory / CONFIG).exists(), "half a model is not taken for a whole one"
    go()
    assert sum(text.startswith("going on from step") for text in said) == 2
    assert sorted(file.name for file in directory.iterdir()) == FILES
    for name in (WEIGHTS, CONFIG):
        assert (directory / name).read_bytes() == (evidence.directory / name).read_bytes()


def test_another_seed_gives_other_weights(evidence: Trained, tmp_path: Path) -> None:
    trained(evidence.file, tmp_path / "m", evidence.base, seed=1, epochs=1, rank=0)
    assert (tmp_path / "m" / WEIGHTS).read_bytes() != (evidence.directory / WEIGHTS).read_bytes()


# -- the trainer --------------------------------------------------------------------------------


def trainer(base: Path, said: list[dict[str, Any]], **options: Any) -> Trainer:
    training, held = split(some(40), 0.2, 100, 0)
    settings = replace(SETTINGS, **options)
    return Trainer(EvidenceNetwork(base, threads=1), training, held, settings, said.append)


def nothing(state: Trainer) -> None:
    pass


def test_it_stops_when_it_gets_no_better_and_stays_stopped(
    evidence: Trained, tmp_path: Path
) -> None:
    still = {"encoder_rate": 0.0, "head_rate": 0.0, "weight_decay": 0.0, "patience": 2}
    said: list[dict[str, Any]] = []
    first = trainer(evidence.base, said, epochs=9, **still)
    kept: list[int] = []
    first.run(
        lambda state: checkpoint.save(state, tmp_path),
        lambda state: kept.append(state.progress.step),
    )
    every = first.steps // 9
    assert kept == [every], "the first evaluation is the best one"
    assert first.progress.step == 3 * every < first.steps and said[-1]["stopped"] == "no better"
    again = trainer(evidence.base, said, epochs=9, **still)
    assert checkpoint.resume(again, tmp_path)
    again.run(nothing, nothing)
    assert again.progress == first.progress


def test_embeddings_of_words_and_positions_stay_as_they_are(evidence: Trained) -> None:
    made = trainer(evidence.base, [], epochs=1)
    made.run(nothing, nothing)
    fresh = dict(EvidenceNetwork(evidence.base, threads=1).encoder.named_parameters())
    for name, value in made.network.encoder.named_parameters():
        frozen = name.startswith(("embeddings.word_", "embeddings.position_"))
        assert is_trained(name) != frozen
        assert bool((value == fresh[name]).all()) == frozen, name


def test_every_record_of_an_epoch_is_in_one_step_and_steps_are_not_too_large(
    evidence: Trained,
) -> None:
    made = trainer(evidence.base, [], epochs=2, batch_tokens=400)
    half = len(made._plan) // 2
    for steps in (made._plan[:half], made._plan[half:]):
        keys = [one.key for step in steps for one in step]
        assert sorted(keys) == sorted(one.key for one in made.training)
    assert [s[0].key for s in made._plan[:half]] != [s[0].key for s in made._plan[half:]]
    for step in made._plan:
        assert len(step) == 1 or sum(map(made._tokens, step)) <= 400
    few = trainer(evidence.base, [], epochs=1, records_per_epoch=5)
    assert sum(map(len, few._plan)) == 5


def test_the_loss_of_a_step_is_the_plain_one(evidence: Trained) -> None:
    """Cross-entropy of sentences and the softmax of each gold one against the others."""
    import torch

    made = trainer(evidence.base, [], rank_weight=0.5, unit_weight=0.0, positive_weight=3.0)
    batch = made.training[:3]
    vague = replace(batch[2], labels=[batch[2].labels[0] * 0 - 1, batch[2].labels[1] * 0],
                    some=[(0, [0, 1, 2])])  # fmt: skip
    batch = [*batch[:2], vague]
    single, listed = [], []
    with torch.no_grad():
        found = float(made._loss(batch, random.Random(0)))
        for one in batch:
            (logits,) = made._logits([one])
            values = logits.double().numpy()
            labels = np.concatenate(one.labels)
            gold, others = list(values[labels == 1]), values[labels == 0]
            gold += [max(values[:3])] if one.some else []
            single += [3 * np.log1p(np.exp(-g)) for g in gold] + list(np.log1p(np.exp(others)))
            listed.append(np.mean([np.log(np.exp([g, *others]).sum()) - g for g in gold]))
    assert found == pytest.approx(np.mean(single) + 0.5 * np.mean(listed), rel=1e-4)


# -- what is refused ----------------------------------------------------------------------------


def test_too_few_records(evidence: Trained, tmp_path: Path) -> None:
    file = written(tmp_path / "r.jsonl", records(12))
    with pytest.raises(DataError, match="12 records with gold are too few"):
        trained(file, tmp_path / "m", evidence.base)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("what", ["no sentence known as gold", "nothing but gold"])
def test_gold_that_nothing_can_be_measured_on(evidence: Trained, tmp_path: Path, what: str) -> None:
    rows = records(24)
    for row in rows:
        if what == "nothing but gold":
            (gold,) = row["evidence_gold"]
            text = f"{gold['text']} {row['id']}."
            row["contexts"] = [{"id": "c", "text": text}]
            row["evidence_gold"] = [{"id": "c", "start": 0, "end": len(text)}]
        else:
            row["evidence_gold"] = [{"id": row["contexts"][0]["id"]}]
    file = written(tmp_path / "r.jsonl", rows)
    with pytest.raises(DataError, match="of 0 of the 5 records held back it is known"):
        trained(file, tmp_path / "m", evidence.base)


def test_a_model_or_a_file_is_not_written_over(evidence: Trained) -> None:
    with pytest.raises(UsageError, match="already holds a model: give another -o"):
        trained(evidence.file, evidence.directory, evidence.base)
    with pytest.raises(UsageError, match="is a file: give a directory"):
        trained(evidence.file, evidence.file, evidence.base)


def test_a_directory_with_other_files_is_not_touched(evidence: Trained, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("of the user's own")
    (tmp_path / "training").mkdir()
    with pytest.raises(UsageError, match="is not empty: give another -o"):
        trained(evidence.file, tmp_path, evidence.base)
    assert (tmp_path / "README.md").read_text() == "of the user's own"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["README.md", "training"]


def test_a_base_that_cannot_be_one(evidence: Trained, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is an evidence model itself"):
        trained(evidence.file, tmp_path / "m", evidence.directory)
    bare = tiny.bert(tmp_path / "bert")
    (bare / "model.safetensors").rename(bare / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"has no model\.safetensors"):
        trained(evidence.file, tmp_path / "m", bare)
    assert not (tmp_path / "m").exists()


def test_the_curve_of_a_log(tmp_path: Path) -> None:
    assert curve(tmp_path, "auc") == "-"
    for step, auc in ((1, 0.5), (2, 0.7), (2, 0.75), (3, 1.0)):  # step 2 again after a resume
        checkpoint.log({"step": step, "auc": auc}, tmp_path)
    checkpoint.log({"step": 3, "loss": 1.0}, tmp_path)
    assert curve(tmp_path, "auc") == "▁▅█ 0.500 to 1.000, best 1.000"
    assert curve(tmp_path, "auc", least=True) == "▁▅█ 0.500 to 1.000, best 0.500"
