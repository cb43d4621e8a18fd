"""Vectors and attention of chunks from a small encoder, against plain transformers."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.models.chunk_encoder import ChunkedText, ChunkEncoder, PooledWindow
from grasp_cli.models.evidence_weights import compressed
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.tree_weights import TreeWeights, save_tree_weights
from grasp_cli.pipe.errors import MissingError, ProcessingError
from grasp_cli.retrieval.model import weights_sha256
from grasp_cli.retrieval.tree.building import TreeBuilder
from grasp_cli.retrieval.tree.chunks import chunk
from grasp_cli.retrieval.tree.settings import TreeSettings
from tests.compression.tiny import bert
from tests.retrieval.tree import naive

TEXT = "Ice came.  It froze.\nThe sun rose over it. A museum opened. Nobody saw it go."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few positions, so that a text has many windows."""
    return bert(tmp_path_factory.mktemp("short"), positions=48)


def chunked(text: str = TEXT, sentences: int = 1, title: str = "") -> ChunkedText:
    return ChunkedText(text, chunk(text, sentences), title)


def windows(encoder: ChunkEncoder, *texts: ChunkedText) -> list[list[PooledWindow]]:
    found: list[list[PooledWindow]] = [[] for _ in texts]
    for number, window in encoder.windows(texts):
        found[number].append(window)
    return found


def plain(path: Path, text: ChunkedText) -> tuple[Any, Any, list[list[int]]]:
    """States and attention of a text that fits, and the tokens of each of its chunks."""
    transformers, torch = quiet_transformers(), torch_runtime(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    network = transformers.AutoModel.from_pretrained(path, attn_implementation="eager").eval()
    lead = tokenizer(f"{text.title}\n", add_special_tokens=False).input_ids if text.title else []
    inputs = tokenizer(text.text, add_special_tokens=False, return_offsets_mapping=True)
    first, last = tokenizer("").input_ids
    ids = [first, *lead, *inputs["input_ids"], last]
    with torch.inference_mode():
        output = network(input_ids=torch.tensor([ids]), output_attentions=True)
    edges = [start for start, _ in text.chunks] + [len(text.text)]
    places = [
        [
            1 + len(lead) + token
            for token, (begin, _) in enumerate(inputs["offset_mapping"])
            if start <= begin < end
        ]
        for start, end in pairwise(edges)
    ]
    attention = torch.stack(output.attentions)[:, 0]
    return output.last_hidden_state[0].numpy(), attention.numpy(), places


def test_one_pass_equals_plain_transformers(model: Path) -> None:
    text = chunked()
    ((window,),) = windows(ChunkEncoder(model, attention=True, threads=1), text)
    states, attention, places = plain(model, text)
    assert (window.first, window.last) == (0, 5)
    assert window.tokens == list(map(len, places))
    expected = [states[own].mean(axis=0) for own in places]
    np.testing.assert_allclose(window.vectors, expected, atol=1e-5)
    kept = [token for own in places for token in own]
    bounds = [0, *np.cumsum(window.tokens).tolist()]
    heads = [
        naive.attention(head[np.ix_(kept, kept)], bounds) for layer in attention for head in layer
    ]
    mixed = np.mean(heads, axis=0)
    assert window.relation is not None
    np.testing.assert_allclose(window.relation, (mixed + mixed.T) / 2, atol=1e-5)
    np.testing.assert_array_equal(window.relation, window.relation.T)


def test_a_title_is_read_and_is_in_no_chunk(model: Path) -> None:
    text = chunked(title="River")
    ((window,),) = windows(ChunkEncoder(model, threads=1), text)
    states, _, places = plain(model, text)
    np.testing.assert_allclose(window.vectors, [states[own].mean(0) for own in places], atol=1e-5)
    assert window.relation is None
    ((without,),) = windows(ChunkEncoder(model, threads=1), chunked())
    assert not np.allclose(window.vectors, without.vectors, atol=1e-3)
    ((prompted,),) = windows(ChunkEncoder(model, prompt="River\n", threads=1), chunked())
    np.testing.assert_allclose(prompted.vectors, window.vectors, atol=1e-5)


def test_windows_of_a_long_text(short: Path) -> None:
    """Pairs that no window holds have no relation, those in two have the mean of both."""
    text = chunked(" ".join(f"Sentence {n} here." for n in range(12)))
    encoder = ChunkEncoder(short, attention=True, threads=1)
    (found,) = windows(encoder, text)
    assert len(found) > 3
    assert all(sum(window.tokens) <= encoder.encoder.room for window in found)
    tree = builder(encoder).build([{"text": text.text}])
    (made,) = list(tree)
    total, seen = np.zeros((12, 12)), np.zeros((12, 12))
    for window in found:
        total[window.first : window.last, window.first : window.last] += window.relation
        seen[window.first : window.last, window.first : window.last] += 1
    assert (seen == 0).any() and (seen > 1).any()
    matrix = (total / np.maximum(seen, 1)).astype(np.float32)
    pairs, _ = naive.merges(matrix)
    assert made.pairs.tolist() == [list(pair) for pair in pairs]


def builder(encoder: ChunkEncoder, kind: str = "attention") -> TreeBuilder:
    return TreeBuilder(TreeSettings(kind, chunk_sentences=1), encoder, titles=True)


@pytest.mark.parametrize("attention", [False, True])
def test_what_else_is_read_changes_nothing(short: Path, attention: bool) -> None:
    """Not one bit, whatever the batches."""
    texts = [chunked(TEXT), chunked("Ice. " * 40), chunked("One."), chunked(TEXT, title="T")]
    together = windows(ChunkEncoder(short, attention=attention, threads=1), *texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = windows(ChunkEncoder(short, attention=attention, threads=1), text)
        for one, other in zip(alone, found, strict=True):
            np.testing.assert_array_equal(one.vectors, other.vectors)
            if attention:
                assert one.relation is not None and other.relation is not None
                np.testing.assert_array_equal(one.relation, other.relation)


@pytest.mark.parametrize("kind", ["embedding", "attention"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "One sentence.",
        "A sentence longer than the window " + "and longer " * 40 + "still. It ends.",
        "Ice came. " * 20,
        "\u200b\u00ad. Ice. \u00ad",
    ],
    ids=["empty", "one chunk", "longer than the window", "identical sentences", "no tokens"],
)
def test_unusual_texts(short: Path, kind: str, text: str) -> None:
    encoder = ChunkEncoder(short, attention=kind == "attention", threads=1)
    (tree,) = builder(encoder, kind).build([{"text": text}])
    count = len(chunk(text, 1))
    assert tree.chunks.shape == (count, 2)
    assert tree.vectors.shape == (max(0, 2 * count - 1), 32)
    assert np.isfinite(tree.vectors).all()
    lengths = np.linalg.norm(tree.vectors, axis=1)
    assert ((lengths < 1.0001) & ((lengths > 0.9999) | (lengths == 0))).all()


def test_a_sentence_longer_than_the_window_is_the_mean_of_its_windows(short: Path) -> None:
    text = "A sentence longer than the window " + "and longer " * 40 + "still."
    encoder = ChunkEncoder(short, threads=1)
    (found,) = windows(encoder, chunked(text))
    assert len(found) > 2 and {(w.first, w.last) for w in found} == {(0, 1)}
    (tree,) = builder(encoder, "embedding").build([{"text": text}])
    sizes = np.array([w.tokens[0] for w in found])
    mean = (np.concatenate([w.vectors for w in found]) * sizes[:, None]).sum(0) / sizes.sum()
    np.testing.assert_allclose(tree.vectors[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_a_model_that_gives_no_attention_is_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With attention that cannot be read (SDPA) the model's list of it is empty."""
    encoder = ChunkEncoder(model, attention=True, threads=1)
    encoder.encoder._eager = False
    with pytest.raises(ProcessingError, match=r"gives no attention.*--tree embedding"):
        windows(encoder, chunked())


def test_another_pooling_is_refused(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cls"
    shutil.copytree(model, path)
    (path / "modules.json").write_text(
        json.dumps([{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_P"}])
    )
    (path / "1_P").mkdir()
    (path / "1_P" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    with pytest.raises(ProcessingError, match="need an encoder with mean pooling, not cls"):
        windows(ChunkEncoder(path, threads=1), chunked())


def trained(model: Path, directory: Path, *, encoder: bool = False, heads: int = 2) -> TreeWeights:
    """Weights that look at one head alone, and an encoder whose first layer was changed."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    alpha = torch.full((2, heads), -50.0)
    alpha[1, 0] = 0
    network = transformers.AutoModel.from_pretrained(model)
    change: dict[str, Any] = {}
    if encoder:
        base = {n: p.detach().clone() for n, p in network.named_parameters()}
        name = "encoder.layer.0.output.dense.weight"
        change = compressed(base, {name: base[name] + 0.25}, None)
    config = network.config
    return save_tree_weights(directory, alpha, change, "tiny", weights_sha256(model), config)


def test_trained_heads_weigh_the_attention(model: Path, tmp_path: Path) -> None:
    weights = trained(model, tmp_path / "w")
    weights.refuse_other("tiny", weights_sha256(model))
    encoder = ChunkEncoder(model, attention=True, weights=weights, threads=1)
    ((window,),) = windows(encoder, chunked())
    _, attention, places = plain(model, chunked())
    kept = [token for own in places for token in own]
    bounds = [0, *np.cumsum(window.tokens).tolist()]
    head = np.array(naive.attention(attention[1, 0][np.ix_(kept, kept)], bounds))
    np.testing.assert_allclose(window.relation, (head + head.T) / 2, atol=1e-5)
    assert not weights.tunes_encoder


def test_a_trained_encoder_gives_other_vectors(model: Path, tmp_path: Path) -> None:
    weights = trained(model, tmp_path / "w", encoder=True)
    assert weights.tunes_encoder
    ((window,),) = windows(ChunkEncoder(model, weights=weights, threads=1), chunked())
    path = tmp_path / "changed"
    shutil.copytree(model, path)
    network = quiet_transformers().AutoModel.from_pretrained(model)
    with torch_runtime(1).no_grad():
        network.encoder.layer[0].output.dense.weight += 0.25
    network.save_pretrained(path)
    ((expected,),) = windows(ChunkEncoder(path, threads=1), chunked())
    np.testing.assert_allclose(window.vectors, expected.vectors, atol=1e-5)


def test_weights_of_another_encoder_are_refused_by_name_and_by_shape(
    model: Path, short: Path, tmp_path: Path
) -> None:
    weights = trained(model, tmp_path / "w")
    said = r"trained on tiny \(2 layers of 2 heads, width 32\) and not on these weights of other"
    with pytest.raises(ProcessingError, match=said):
        weights.refuse_other("other", weights_sha256(short))
    wrong = trained(model, tmp_path / "heads", heads=3)
    with pytest.raises(ProcessingError, match=r"2 layers of 3 heads, width 32, and .* of 2 heads"):
        windows(ChunkEncoder(model, attention=True, weights=wrong, threads=1), chunked())
    values = json.loads((tmp_path / "w" / "config.json").read_text())
    (tmp_path / "w" / "config.json").write_text(json.dumps({**values, "layers": 6}))
    changed = TreeWeights(tmp_path / "w")
    with pytest.raises(ProcessingError, match=r"6 layers of 2 heads.*leave --tree-weights out"):
        windows(ChunkEncoder(model, attention=True, weights=changed, threads=1), chunked())


def test_weights_that_are_missing_damaged_or_of_another_version(
    model: Path, tmp_path: Path
) -> None:
    with pytest.raises(MissingError, match="no trained weights of trees here"):
        _ = TreeWeights(tmp_path).config
    path = tmp_path / "w"
    trained(model, path)
    data = (path / "tree.safetensors").read_bytes()
    (path / "tree.safetensors").write_bytes(data[:-1] + b"x")
    with pytest.raises(ProcessingError, match="missing or damaged"):
        _ = TreeWeights(path).config
    values = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**values, "format": 9}))
    with pytest.raises(MissingError, match="tree weights of format 9"):
        _ = TreeWeights(path).config


def test_weights_that_change_what_the_encoder_does_not_have(model: Path, tmp_path: Path) -> None:
    torch = torch_runtime(1)
    config = quiet_transformers().AutoConfig.from_pretrained(model)
    change = {"encoder.layer.7.output.dense.bias": torch.zeros(32)}
    path = tmp_path / "w"
    weights = save_tree_weights(path, torch.zeros(2, 2), change, "tiny", "0", config)
    with pytest.raises(ProcessingError, match=r"layer\.7.*no such parameter"):
        windows(ChunkEncoder(model, weights=weights, threads=1), chunked())
