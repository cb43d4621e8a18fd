"""What --explain says holds for every record, option and text (properties, on fake models)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from grasp_cli.compression.baselines.lead import Lead
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import COMPRESS
from grasp_cli.pipe.engine import Tally, run_stage
from grasp_cli.text import segment
from tests.compression.fakes import Words
from tests.compression.test_invariants import options, records, run

STATES = {"kept", "fallback", "coarse", "threshold", "redundancy", "budget", "overlap"}


def entries(out: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(item["context"], entry) for item in out["explain"] for entry in item["sentences"]]


def whys(out: dict[str, Any]) -> list[str]:
    return [entry["why"] for _, entry in entries(out)]


@given(records(), options)
def test_every_sentence_is_there_once_in_one_state(record: Any, setting: Any) -> None:
    (out,) = run(replace(setting, explain=True), record)
    assert [item["context"] for item in out["explain"]] == [c["id"] for c in record["contexts"]]
    for context, item in zip(record["contexts"], out["explain"], strict=True):
        found = [(s["start"], s["end"], s["kind"]) for s in item["sentences"]]
        assert found == [tuple(found) for found in segment(context["text"])]
    assert set(whys(out)) <= STATES
    for _, entry in entries(out):
        assert entry["kept"] == (entry["why"] in ("kept", "fallback"))


@given(records(), options)
def test_what_is_kept_is_what_the_evidence_holds(record: Any, setting: Any) -> None:
    (out,) = run(replace(setting, explain=True), record)
    covered = {
        (item["context"], place)
        for item in out["evidence"]
        for place in range(item["start"], item["end"])
    }
    for context, entry in entries(out):
        inside = [p for p in range(entry["start"], entry["end"]) if (context, p) in covered]
        assert bool(inside) == entry["kept"]
        if entry["kept"]:
            start, end = entry.get("part", (entry["start"], entry["end"]))
            assert inside == list(range(start, end))


@given(records(), options)
def test_states_agree_with_scores_and_counts(record: Any, setting: Any) -> None:
    (out,) = run(replace(setting, explain=True), record)
    said, found = out["compression"], [entry for _, entry in entries(out)]
    assert len(found) == said["sentences"]
    if setting.coarse and "after_coarse" in said:
        assert sum(entry["survived"] for entry in found) == said["after_coarse"]
    for entry in found:
        assert ("coarse" in entry) == ("survived" in entry) == setting.coarse
        assert ("unit" in entry) == entry.get("survived", True)
        if setting.fine and "unit" in entry:
            adaptive = setting.budget == "adaptive"  # no threshold
            passed = adaptive or entry["score"] >= setting.fine_threshold
            assert not (passed and entry["why"] == "threshold")
            assert passed or entry["why"] in ("threshold", "fallback", "overlap", "budget")
        if entry["why"] == "coarse":
            assert not entry["survived"]
        if entry["why"] == "redundancy":
            assert setting.redundancy
        if entry["why"] == "budget":
            limits = (setting.max_tokens, setting.max_tokens_per_doc, setting.top_k_spans)
            assert any(limits) or setting.budget == "adaptive"


@given(records(), options)
def test_it_changes_nothing_else(record: Any, setting: Any) -> None:
    (without,), (explained,) = run(setting, record), run(replace(setting, explain=True), record)
    assert "explain" not in without
    assert list(explained) == [*without, "explain"]
    for key in ("context", "evidence"):
        assert explained[key] == without[key]


def small(**contexts: str) -> dict[str, Any]:
    return {
        "id": "r",
        "question": "Why?",
        "contexts": [{"id": name, "text": text} for name, text in contexts.items()],
    }


def test_the_reasons_one_by_one() -> None:
    plain = replace(COMPRESS, coarse=False, similarity_threshold=1.0, explain=True)
    record = small(a="One is here. Two is there. Three is gone.")
    assert whys(run(replace(plain, fine_threshold=0.0), record)[0]) == ["kept"] * 3
    assert sorted(whys(run(replace(plain, fine_threshold=1.0), record)[0])) == [
        "fallback", "threshold", "threshold",
    ]  # fmt: skip
    none = replace(plain, fine_threshold=1.0, on_empty="empty")
    assert whys(run(none, record)[0]) == ["threshold"] * 3
    whole = replace(plain, fine_threshold=1.0, on_empty="passthrough")
    assert whys(run(whole, record)[0]) == ["fallback"] * 3
    filtered = replace(COMPRESS, coarse_ratio=0.0, quitox_min_keep=1, explain=True)
    assert sorted(whys(run(filtered, record)[0]))[:2] == ["coarse", "coarse"]
    tight = replace(plain, fine_threshold=0.0, max_tokens=4)
    assert sorted(whys(run(tight, record)[0])) == ["budget", "budget", "kept"]


def test_a_copy_is_redundant_and_a_cut_sentence_kept_in_part() -> None:
    setting = replace(COMPRESS, coarse=False, fine_threshold=0.0, locality_window=0, explain=True)
    twice = small(a="The dam holds.", b="The dam holds.")
    (out,) = run(replace(setting, redundancy=True), twice)
    assert whys(out) == ["kept", "redundancy"]
    (out,) = run(replace(setting, max_tokens=2), small(a="The dam holds."))
    assert [e.get("part") for _, e in entries(out)] == [[0, 7]]


def test_what_another_passage_shows_is_an_overlap() -> None:
    setting = replace(COMPRESS, coarse=False, fine_threshold=0.0, explain=True)
    contexts = [
        {"id": "d#0", "doc_id": "d", "start": 0, "end": 21, "text": "Ice melts. Snow lies."},
        {"id": "d#1", "doc_id": "d", "start": 11, "end": 30, "text": "Snow lies. Fog rose."},
    ]
    (out,) = run(setting, {"id": "r", "question": "Why?", "contexts": contexts})
    assert whys(out) == ["kept", "kept", "overlap", "kept"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_method_without_scores(count: int) -> None:
    setting = replace(COMPRESS, lead_sentences=count, explain=True)
    stage = Compress(Lead(setting), None, Words(), setting, Setting("embedded", "float32", "rule"))  # type: ignore[arg-type]
    (batch,) = run_stage(stage, [small(a="One. Two. Three.", b="")], Tally())
    (out,) = batch
    assert whys(out) == ["kept"] * count + ["method"] * (3 - count)
    assert all("coarse" not in entry and "score" not in entry for _, entry in entries(out))
