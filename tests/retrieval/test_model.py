"""Encoders as their makers mean them: against transformers and sentence-transformers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.models.encoder import Encoder
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.retrieval.model import load_encoder
from tests.compression import tiny
from tests.conftest import ROOT
from tests.readers.tiny import END

TEXTS = ["The river froze.", "", "A museum of trains, opened in 1911, is shut.", "x"]


def bert(directory: Path) -> Path:
    """A tiny encoder whose tokenizer can pad, as the reference implementations want it."""
    tokenizer = quiet_transformers().AutoTokenizer.from_pretrained(tiny.bert(directory))
    tokenizer.pad_token = END
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture
def contriever(tmp_path: Path) -> Path:
    """As facebook/contriever-msmarco comes: pytorch_model.bin, no pooler, nothing on pooling."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    made = transformers.BertModel.from_pretrained(bert(tmp_path / "bert"))
    states = {key: value for key, value in made.state_dict().items() if "pooler" not in key}
    (tmp_path / "bert" / "model.safetensors").unlink()
    torch.save(states, tmp_path / "bert" / "pytorch_model.bin")
    return tmp_path / "bert"


def test_contriever_is_the_plain_mean_as_its_card_says(contriever: Path) -> None:
    """`mean_pooling` is the function of the model's card, word for word."""
    torch, transformers = torch_runtime(1), quiet_transformers()

    def mean_pooling(token_embeddings: Any, mask: Any) -> Any:
        token_embeddings = token_embeddings.masked_fill(~mask[..., None].bool(), 0.0)
        sentence_embeddings = token_embeddings.sum(dim=1) / mask.sum(dim=1)[..., None]
        return sentence_embeddings

    tokenizer = transformers.AutoTokenizer.from_pretrained(contriever)
    model = transformers.AutoModel.from_pretrained(contriever, add_pooling_layer=False).eval()
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**{k: inputs[k] for k in ("input_ids", "attention_mask")})[0]
    expected = mean_pooling(states, inputs["attention_mask"]).numpy()
    found = Encoder(contriever, threads=1).embed(TEXTS)
    assert found == pytest.approx(expected, abs=2e-5)
    assert not np.allclose(np.linalg.norm(found, axis=1), 1)


def test_contriever_is_loaded_without_a_word(contriever: Path) -> None:
    code = "import sys; from pathlib import Path; from grasp_cli.models.encoder import Encoder; "
    code += "assert Encoder(Path(sys.argv[1]), threads=1).embed(['river']).shape == (1, 32)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(contriever)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


POOLINGS: list[Any] = [
    "mean",
    "cls",
    "max",
    "mean_sqrt_len_tokens",
    "weightedmean",
    "lasttoken",
    ("cls", "mean"),
]


@pytest.mark.parametrize("mode", POOLINGS)
@pytest.mark.parametrize("more", ["nothing", "projection", "normalisation"])
def test_equals_sentence_transformers(mode: Any, more: str, tmp_path: Path) -> None:
    torch = torch_runtime(1)
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Dense,
        Normalize,
        Pooling,
        Transformer,
    )

    words = Transformer(str(bert(tmp_path / "bert")))
    pooling = Pooling(32, pooling_mode=mode)
    modules = [words, pooling]
    if more != "nothing":
        torch.manual_seed(3)
        modules.append(Dense(32 if isinstance(mode, str) else 64, 12))
    if more == "normalisation":
        modules.append(Normalize())
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save(str(tmp_path / "model"))
    expected = model.encode(TEXTS, batch_size=1)
    encoder = Encoder(tmp_path / "model", threads=1)
    assert encoder.dimension == expected.shape[1]
    assert encoder.embed(TEXTS) == pytest.approx(expected, abs=2e-5)


def test_prompts_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    torch_runtime(1)
    from sentence_transformers import SentenceTransformer

    bert(tmp_path / "bert")
    prompts = {"query": "query: ", "passage": "passage: "}
    model = SentenceTransformer(str(tmp_path / "bert"), prompts=prompts, device="cpu")
    model.save(str(tmp_path / "model"))
    texts = [text for text in TEXTS if text]
    for purpose, encode in (("query", model.encode_query), ("document", model.encode_document)):
        encoder = load_encoder(tmp_path / "model", purpose, "float32", 1)
        assert encoder.embed(texts) == pytest.approx(encode(texts, batch_size=1), abs=2e-5)
    query, document = (
        load_encoder(tmp_path / "model", p, "float32", 1) for p in ("query", "document")
    )
    assert not np.allclose(query.embed(["river"]), document.embed(["river"]))


def test_unknown_modules_are_refused(tmp_path: Path) -> None:
    bert(tmp_path)
    listing = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.CNN"}]
    (tmp_path / "modules.json").write_text(json.dumps(listing))
    with pytest.raises(ProcessingError, match="module CNN is not supported"):
        Encoder(tmp_path, threads=1).embed(["river"])


def test_the_encoder_of_t5(tmp_path: Path) -> None:
    torch, transformers = torch_runtime(1), quiet_transformers()
    path = tiny.t5(tmp_path)
    model = transformers.T5EncoderModel.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    inputs = tokenizer("The river froze.", return_tensors="pt")
    with torch.inference_mode():
        states = model(inputs["input_ids"], attention_mask=inputs["attention_mask"])[0]
    found = Encoder(path, threads=1).embed(["The river froze."])
    assert found[0] == pytest.approx(states[0].mean(0).numpy(), abs=2e-5)
