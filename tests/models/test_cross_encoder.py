"""Cross-encoders against transformers, one pair at a time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from grasp_cli.models.cross_encoder import CrossEncoder
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError
from tests.compression import tiny

PAIRS = [
    ("Who led it?", text)
    for text in (
        "Dr. Hale led it.",
        "No.",
        "水库",
        "A ferry left at noon. " * 9,
        "It burst!" * 3,
    )
] + [("Why was the dam at Orl built?", "Nobody knows."), ("Who led it?", "No.")]


@pytest.mark.parametrize("labels", [1, 2])
def test_scores_equal_transformers(tmp_path: Path, labels: int) -> None:
    torch, transformers = torch_runtime(1), quiet_transformers()
    path = tiny.cross_encoder(tmp_path, labels=labels)
    encode = transformers.AutoTokenizer.from_pretrained(path)
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(path)
    expected = []
    for question, text in PAIRS:
        logits = plain(
            **encode(question, text, return_tensors="pt", return_token_type_ids=True)
        ).logits[0]
        one = torch.sigmoid(logits[0]) if labels == 1 else torch.softmax(logits, 0)[1]
        expected.append(one.item())
    found = CrossEncoder(path, threads=1).scores(PAIRS)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 0.1, "the pairs must differ for this to say anything"
    alone = [CrossEncoder(path, threads=1, batch_tokens=1).scores([pair])[0] for pair in PAIRS]
    assert found.tolist() == alone


def test_a_long_text_is_read_in_windows_and_the_best_counts(tmp_path: Path) -> None:
    model = CrossEncoder(tiny.cross_encoder(tmp_path), threads=1)
    question, text = "Who led it?", "".join(f"Ship {i} carried salt. " for i in range(60))
    room = model.room(question)
    assert len(text) > 2 * room
    pieces = -(-len(text) // room)
    cuts = [len(text) * i // pieces for i in range(pieces + 1)]
    parts = [text[start:end] for start, end in pairwise(cuts)]
    assert model.scores([(question, text)])[0] == max(model.scores([(question, p) for p in parts]))


def test_more_than_two_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProcessingError, match=r"this model has 3; choose another model"):
        CrossEncoder(tiny.cross_encoder(tmp_path, labels=3)).load()


def test_a_model_without_a_classification_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProcessingError, match=r"no cross-encoder: its weights lack classifier\.b"):
        CrossEncoder(tiny.bert(tmp_path)).load()
