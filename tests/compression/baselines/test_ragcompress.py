"""ragcompress is a cross-encoder on sentences, redundancy removed, adaptive budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from grasp_cli.compression.baselines.ragcompress import ragcompress
from grasp_cli.compression.classifiers import CosineClassifier
from grasp_cli.compression.cross_encoder import CrossEncoderClassifier
from grasp_cli.compression.methods import Encoders, Models, build, number_format
from grasp_cli.defaults import CAUSAL
from tests.compression import tiny
from tests.compression.baselines.helpers import record, run, settings
from tests.compression.fakes import Classifier, Embedder

SAME = "The dam at Orl burst in 1924."
TEXTS = [f"{SAME} {name} sank." for name in ("Ada", "Bo", "Cy", "Di")]


class Scored(Classifier):
    """The scores of a cross-encoder that likes dams and Bo."""

    def score(self, tasks: Any, units: Any) -> Any:
        import numpy as np

        def one(text: str) -> float:
            return 0.9 if "dam" in text else 0.8 if "Bo" in text else 0.1

        return [
            np.asarray([one(u.text(task.passages[u.passage])) for u in members])
            for task, members in zip(tasks, units, strict=True)
        ]


def test_repetitions_go_and_the_gap_in_the_scores_ends_the_choice() -> None:
    options = settings("ragcompress", min_tokens=1)
    assert options.redundancy and options.budget == "adaptive"
    method = ragcompress(Scored(), options, 0.001)  # type: ignore[arg-type]
    (out,) = run(method, options, record(TEXTS), embedder=Embedder())
    assert [item["text"] for item in out["evidence"]] == [SAME, "Bo sank."]
    assert out["compression"]["method"] == "ragcompress"
    assert out["compression"]["budget"] == "adaptive"


def test_a_fixed_budget_takes_the_best() -> None:
    options = settings("ragcompress", budget="threshold", redundancy=False, top_k_spans=3)
    (out,) = run(ragcompress(Scored(), options, 0.0), options, record(TEXTS))  # type: ignore[arg-type]
    assert [item["text"] for item in out["evidence"]] == [SAME, SAME, SAME]
    tight = replace(options, max_tokens=8)
    (out,) = run(ragcompress(Scored(), tight, 0.0), tight, record(TEXTS))  # type: ignore[arg-type]
    assert [item["text"] for item in out["evidence"]] == [SAME]


def test_the_scheme_on_an_encoder_or_a_cross_encoder(tmp_path: Path) -> None:
    encoder, pairs = tiny.bert(tmp_path / "bert"), tiny.cross_encoder(tmp_path / "cross")
    for path, kind in ((encoder, CosineClassifier), (pairs, CrossEncoderClassifier)):
        causal = replace(CAUSAL, device="cpu")
        models = Models("", "", "", str(path), threads=1, causal_dtype="bfloat16", causal=causal)
        models, options = replace(models, quiet=True), settings("ragcompress")
        method: Any = build(options, models, Encoders(models))
        assert isinstance(method.classifier, kind)
        assert number_format(options, models) == ("float32" if path is encoder else "bfloat16")
