"""embeddings-filter and recomp-extractive on a tiny encoder, against one text at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.baselines.embeddings_filter import EmbeddingsFilter
from grasp_cli.compression.baselines.recomp_extractive import RecompExtractive
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.text import segment
from tests.compression import tiny
from tests.compression.baselines.helpers import QUESTION, TEXTS, record, run, settings

SENTENCES = [text[s.start : s.end] for text in TEXTS for s in segment(text)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


def vector(path: Path, text: str) -> Any:
    """The mean of a text's last states, by transformers alone."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModel.from_pretrained(path)
    encoded = transformers.AutoTokenizer.from_pretrained(path)(text, return_tensors="pt")
    encoded.pop("token_type_ids", None)
    with torch.no_grad():
        return model(**encoded).last_hidden_state[0].mean(dim=0).double().numpy()


def products(path: Path, texts: list[str], cosine: bool) -> list[float]:
    question = vector(path, QUESTION)
    found = []
    for text in texts:
        other = vector(path, text)
        lengths = np.linalg.norm(question) * np.linalg.norm(other) if cosine else 1
        found.append(float(question @ other / lengths))
    return found


@pytest.mark.parametrize(("unit", "texts"), [("document", TEXTS), ("sentence", SENTENCES)])
def test_recomp_keeps_the_greatest_dot_products(path: Path, unit: str, texts: list[str]) -> None:
    expected = products(path, texts, cosine=False)
    assert np.ptp(expected) > 0.1, "the texts must differ for this to say anything"
    best = sorted(np.argsort(expected)[::-1][:2].tolist())
    options = settings("recomp-extractive", unit=unit)
    (out,) = run(RecompExtractive(Encoder(path, threads=1), options), options, record())
    kept = {item["unit"]: item for item in out["evidence"]}
    assert sorted(kept) == best
    for number, item in kept.items():
        assert item["text"] == texts[number]
        assert item["score"] == pytest.approx(expected[number], abs=1e-3)
    assert out["compression"]["units"] == len(texts)


def test_recomp_keeps_as_many_as_asked(path: Path) -> None:
    options = settings("recomp-extractive", unit="sentence", top_k_spans=1)
    (out,) = run(RecompExtractive(Encoder(path, threads=1), options), options, record())
    expected = products(path, SENTENCES, cosine=False)
    assert out["evidence"][0]["text"] == SENTENCES[int(np.argmax(expected))]
    assert len(out["evidence"]) == 1


@pytest.mark.parametrize(("unit", "texts"), [("document", TEXTS), ("sentence", SENTENCES)])
def test_the_filter_keeps_what_reaches_the_cosine(path: Path, unit: str, texts: list[str]) -> None:
    expected = products(path, texts, cosine=True)
    threshold = float(np.median(expected)) + 1e-3
    options = settings("embeddings-filter", unit=unit, fine_threshold=threshold)
    method = EmbeddingsFilter(Encoder(path, threads=1), options, 0.0)
    (out,) = run(method, options, record())
    kept = {item["unit"] for item in out["evidence"]}
    assert kept == {number for number, score in enumerate(expected) if score >= threshold}
    assert 0 < len(kept) < len(texts)
    nothing = settings("embeddings-filter", unit=unit, fine_threshold=1.0)
    (out,) = run(EmbeddingsFilter(Encoder(path, threads=1), nothing, 0.0), nothing, record())
    assert out["compression"]["fallback"] == "keep-best"
    assert [item["unit"] for item in out["evidence"]] == [int(np.argmax(expected))]
