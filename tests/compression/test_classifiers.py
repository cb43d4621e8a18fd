"""The cosine classifier's curve: 0.5 is a balanced cut on training questions."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.classifiers import MIDPOINT, SLOPE, CosineClassifier
from grasp_cli.compression.grasp import Grasp
from grasp_cli.compression.sentence_vectors import EncoderVectors
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.compression.token_relevance import TokenRelevance
from grasp_cli.defaults import COMPRESS, TEXT
from grasp_cli.formats import load_format
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from tests.compression.fakes import Embedder
from tests.conftest import shared

QUESTIONS = 20


def test_the_curve_is_a_logistic_of_the_cosine() -> None:
    class Fixed(Embedder):
        def embed(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
            known = {
                "q": (1.0, 0.0),
                "same": (1.0, 0.0),
                "at": (MIDPOINT, np.sqrt(1 - MIDPOINT**2)),
                "none": (0.0, 1.0),
            }
            return np.asarray([known[text] for text in texts], np.float32).reshape(-1, 2)

    for text, cosine in (("same", 1.0), ("at", MIDPOINT), ("none", 0.0)):
        task = Task.of({"question": "q", "contexts": [{"id": "1", "text": text}]}, "rule")
        (scores,) = CosineClassifier(Fixed()).score([task], [[Unit(0, (0,))]])  # type: ignore[arg-type]
        assert scores[0] == round(1 / (1 + np.exp(-SLOPE * (cosine - MIDPOINT))), 4)


@pytest.mark.models
def test_one_half_keeps_as_large_a_share_of_gold_as_it_drops_of_the_rest() -> None:
    """Within 0.15 on 20 questions, where each share has an error of about 0.07."""
    hotpotqa = load_format("hotpotqa")
    records = list(islice(hotpotqa.records(shared("data/hotpotqa/train.json")), QUESTIONS))
    encoder = Encoder(find("all-MiniLM-L6-v2"), remember=10000)
    classifier = CosineClassifier(encoder)
    coarse, graph = TokenRelevance(encoder, COMPRESS), EncoderVectors(encoder)
    method = Grasp(coarse, graph, classifier, COMPRESS, 0.001)
    tasks = [Task.of(record, TEXT.splitter) for record in records]
    gold, passed = [], []
    for record, selection in zip(records, method.select(tasks), strict=True):
        for number, unit in enumerate(selection.units):  # type: ignore[union-attr]
            gold.append(any(_is_gold(record, run.passage, run.start, run.end) for run in unit.runs))
            passed.append(number in selection.kept)  # type: ignore[union-attr]
    kept_gold = np.mean(np.asarray(passed)[np.asarray(gold)])
    dropped_rest = 1 - np.mean(np.asarray(passed)[~np.asarray(gold)])
    assert min(kept_gold, dropped_rest) > 0.6
    assert abs(kept_gold - dropped_rest) < 0.15


def _is_gold(record: dict[str, Any], passage: int, start: int, end: int) -> bool:
    return any(
        gold["id"] == record["contexts"][passage]["id"]
        and gold.get("start", 0) < end
        and start < gold.get("end", 0)
        for gold in record["evidence_gold"]
    )
