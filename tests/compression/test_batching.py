"""Models see batches from the whole window of records, and its size changes nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.compression.methods import Encoders, Models, build
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Task
from grasp_cli.compression.token_relevance import TokenRelevance
from grasp_cli.defaults import COMPRESS
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.locate import find
from grasp_cli.models.profiles import MINILM
from grasp_cli.pipe.errors import MissingError
from tests.compression import tiny
from tests.compression.fakes import Words
from tests.conftest import ROOT

QUESTIONS = 6
PASSAGES = 3


@pytest.fixture(scope="module")
def minilm() -> str:
    name = MINILM.name
    try:
        find(name)
    except MissingError as missing:
        pytest.skip(str(missing))
    return name


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Sample questions, each with its gold document and two others."""
    rows = [(ROOT / "sample_data" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
            for name in ("documents", "questions")]  # fmt: skip
    documents = {row["id"]: row for row in map(json.loads, rows[0])}
    names = list(documents)
    found = []
    for number, question in enumerate(map(json.loads, rows[1][:QUESTIONS])):
        ids = [gold["id"] for gold in question["evidence_gold"][:1]]
        ids += [names[number], names[number + 1]]
        contexts = [documents[name] for name in dict.fromkeys(ids)][:PASSAGES]
        found.append({**question, "contexts": contexts})
    return found


def compressed(records: list[Any], name: str, dtype: str, size: int, **options: Any) -> list[Any]:
    chosen = replace(COMPRESS, **options)
    models = Models(name, name, name, dtype=dtype)
    method = build(chosen, models, Encoders(models))
    stage = Compress(method, None, Words(), chosen, Setting("embedded", dtype, "rule"))  # type: ignore[arg-type]
    found: list[Any] = []
    for start in range(0, len(records), size):
        found += stage.process(records[start : start + size])
    for out in found:
        out["compression"].pop("seconds")
    return found


@pytest.mark.models
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sizes_1_3_and_64_decide_alike(minilm: str, records: list[Any], dtype: str) -> None:
    alone, few, all_at_once = (compressed(records, minilm, dtype, size) for size in (1, 3, 64))
    assert alone == few == all_at_once
    assert any(out["compression"]["removed"] > 0.3 for out in alone)


def test_who_else_asks_about_a_passage_changes_no_bit(tmp_path: Path) -> None:
    encoder = Encoder(tiny.bert(tmp_path), threads=1)
    relevance = TokenRelevance(encoder, COMPRESS)
    text = "The dam was built in 1911. It burst in 1924! Nobody was hurt."
    (passage,) = Task.of({"question": "", "contexts": [{"id": "c", "text": text}]}, "rule").passages
    read = [relevance._tokens(passage)]
    asked = encoder.embed(["When did it burst?", "Who was hurt?", "Why?"])
    (together,) = relevance._similarities(read, [asked.T])
    for number in range(len(asked)):
        (alone,) = relevance._similarities(read, [asked[number : number + 1].T])
        assert alone[:, 0].tobytes() == together[:, number].tobytes()


@pytest.mark.models
def test_each_model_call_sees_the_whole_window(
    minilm: str, records: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[int] = []
    read: list[int] = []
    embed, states = Encoder.embed, Encoder.states

    def counted_embed(self: Encoder, texts: Any) -> Any:
        embedded.append(len(texts))
        return embed(self, texts)

    def counted_states(self: Encoder, windows: Any) -> Any:
        read.append(len(windows))
        return states(self, windows)

    monkeypatch.setattr(Encoder, "embed", counted_embed)
    monkeypatch.setattr(Encoder, "states", counted_states)
    compressed(records, minilm, "float32", 64)
    whole, reads = [size for size in embedded if size > 1], len(read)
    sentences = sum(context["text"].count(". ") for r in records for context in r["contexts"])
    assert len(whole) == 4, "questions twice (coarse, classifier), sentences, units: once each"
    assert whole.count(len(records)) == 2 and max(whole) > 0.7 * sentences
    embedded.clear(), read.clear()
    compressed(records, minilm, "float32", 1)
    assert len(read) >= 3 * reads, "one record at a time needs many more batches"
