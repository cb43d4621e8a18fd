"""GRASP and EXIT on a trained evidence classifier, through the stage that `grasp compress` runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.compression.exit import Exit
from grasp_cli.compression.grasp import Grasp
from grasp_cli.compression.methods import Encoders, Models, build, settled
from grasp_cli.compression.sentence_filter import SentenceFilter
from grasp_cli.compression.sentence_vectors import EncoderVectors
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import COMPRESS
from grasp_cli.models.evidence_weights import read_config
from grasp_cli.pipe.errors import UsageError
from tests.compression.fakes import Words
from tests.compression.test_methods import RECORDS, outputs
from tests.training.synthetic import POSITIONS, Trained


@pytest.fixture(scope="module")
def models(evidence: Trained) -> Models:
    name = str(evidence.directory)
    return Models(name, name, name, threads=1)


@pytest.fixture(scope="module")
def plain(evidence: Trained) -> Models:
    """The base encoder in all roles: the cosine."""
    name = str(evidence.base)
    return Models(name, name, name, threads=1)


def stage(models: Models, method: str, **options: Any) -> Compress:
    chosen = settled(replace(COMPRESS, method=method, **options), models, "balanced", None, None)
    setting = Setting("embedded", "float32", "rule")
    return Compress(build(chosen, models, Encoders(models)), None, Words(), chosen, setting)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["grasp", "exit"])
def test_evidence_is_verbatim_and_the_batch_size_changes_nothing(
    models: Models, method: str
) -> None:
    found = outputs(stage(models, method, explain=True), RECORDS)
    for record, out in zip(RECORDS, found, strict=True):
        texts = {context["id"]: context["text"] for context in record["contexts"]}  # type: ignore[attr-defined]
        for item in out["evidence"]:
            assert item["text"] == texts[item["context"]][item["start"] : item["end"]] != ""
        for before, after in pairwise(out["evidence"]):
            assert before["context"] < after["context"] or before["end"] <= after["start"]
        assert out["compression"]["tokens_out"] <= out["compression"]["tokens_in"]
    assert any(out["compression"]["removed"] > 0.3 for out in found)
    for size in (1, 3):
        assert outputs(stage(models, method, explain=True), RECORDS, size) == found


def test_a_long_question_is_read(models: Models) -> None:
    asked = {**RECORDS[0], "question": "why so " * 40}
    (out,) = outputs(stage(models, "grasp"), [asked])
    assert POSITIONS < 7 * 40 and out["context"]


def test_a_title_that_was_cut_is_said(models: Models) -> None:
    contexts = [{"id": "c", "title": "A very long title of a book", "text": "One. Two."}]
    (out,) = outputs(
        stage(models, "grasp"), [{"id": "1", "question": "Why?", "contexts": contexts}]
    )
    assert out["compression"]["context_cut_tokens"] == 28 - POSITIONS // 8


def test_all_parts_share_one_model(models: Models) -> None:
    encoders = Encoders(models)
    method = build(replace(COMPRESS, coarse=True), models, encoders)
    assert isinstance(method, Grasp) and isinstance(method.classifier, EvidenceHead)
    assert method.coarse is method.graph is method.classifier
    alone = build(replace(COMPRESS, method="exit"), models, encoders)
    assert isinstance(alone, Exit) and alone.classifier is method.classifier
    coarse = build(replace(COMPRESS, method="quitox"), models, encoders)
    assert isinstance(coarse, SentenceFilter)


def test_its_base_serves_where_an_encoder_is_asked_for(models: Models, evidence: Trained) -> None:
    assert Encoders(models).get(models.embedder).path == evidence.base
    mixed = replace(models, embedder=str(evidence.base))
    method = build(COMPRESS, mixed, Encoders(mixed))
    assert isinstance(method, Grasp) and isinstance(method.graph, EncoderVectors)
    assert Encoders(mixed).evidence(mixed.embedder) is None


# -- operating points ---------------------------------------------------------------------------


def test_presets_are_those_of_the_model(models: Models, evidence: Trained) -> None:
    config = read_config(evidence.directory)
    for name, threshold in config.presets.items():
        found = settled(COMPRESS, models, name, None, None)
        assert found.fine_threshold == threshold
        assert found.similarity_threshold == config.similarity_threshold
    single = settled(replace(COMPRESS, method="exit"), models, "tight", None, None)
    assert single.fine_threshold == config.presets["tight"]


def test_what_is_given_wins(models: Models) -> None:
    found = settled(COMPRESS, models, "tight", 0.125, 0.25)
    assert (found.fine_threshold, found.similarity_threshold) == (0.125, 0.25)


def test_without_a_trained_model_thresholds_are_the_published_ones(plain: Models) -> None:
    found = settled(COMPRESS, plain, "balanced", None, None)
    assert (found.fine_threshold, found.similarity_threshold) == (0.5, 0.45)
    assert settled(COMPRESS, plain, "tight", 0.9, None).fine_threshold == 0.9


def test_a_trained_embedder_states_the_threshold_of_its_own_vectors(
    models: Models, plain: Models, evidence: Trained
) -> None:
    own = read_config(evidence.directory).similarity_threshold
    assert own != 0.45
    mixed = replace(plain, embedder=models.embedder)
    assert settled(COMPRESS, mixed, "balanced", None, None).similarity_threshold == own
    other = replace(models, embedder=plain.embedder)
    assert settled(COMPRESS, other, "balanced", None, None).similarity_threshold == 0.45


@pytest.mark.parametrize(
    "options", [{"method": "cosine"}, {"fine": False}, {"method": "lead"}, {}], ids=str
)
def test_a_preset_needs_a_trained_classifier(
    models: Models, plain: Models, options: dict[str, Any]
) -> None:
    given = models if options else plain
    with pytest.raises(UsageError, match="--preset tight needs a trained evidence classifier"):
        settled(replace(COMPRESS, **options), given, "tight", None, None)
