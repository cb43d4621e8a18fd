"""Options of trees, as a user types them; models are small ones on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grasp_cli.cli.main import app
from grasp_cli.models.tree_weights import save_tree_weights
from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.verify import verify
from tests.compression.tiny import bert
from tests.retrieval.tree.planted import some_documents

DOCUMENTS = some_documents(6, seed=2)
SHA = "0" * 64


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("bert"), positions=64)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    return tmp_path


def grasp(*words: Any) -> str:
    """Run in this process; what was printed. Errors are raised."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def weights(model: Path, directory: Path, **wrong: Any) -> Path:
    """Trained weights of the small encoder."""
    from grasp_cli.models.runtime import quiet_transformers, torch_runtime
    from grasp_cli.retrieval.model import weights_sha256

    torch, config = torch_runtime(1), quiet_transformers().AutoConfig.from_pretrained(model)
    sha256 = wrong.get("sha256") or weights_sha256(model)
    alpha = torch.arange(4.0).reshape(2, 2)
    change = {"embeddings.LayerNorm.bias": torch.full((32,), 0.5)} if wrong.get("encoder") else {}
    save_tree_weights(directory, alpha, change, "tiny", sha256, config)
    return directory


def index(model: Path, *more: Any) -> None:
    grasp("index", "d.jsonl", "-x", "x", "--dense-model", model, "--dtype", "float32", *more)


def retrieved(*more: Any) -> Any:
    """The record that one question becomes."""
    Path("r.jsonl").unlink(missing_ok=True)
    grasp("retrieve", "-q", "river ice", "-x", "x", "-o", "r.jsonl", "--quiet", *more)
    return json.loads(Path("r.jsonl").read_text())


def test_index_retrieve_and_change(model: Path, place: Path) -> None:
    index(model, "--with-tree", "--chunk-sentences", 1, "--merge", "size-weighted")
    settings = Index(place / "x").manifest.settings.tree
    assert settings is not None
    assert (settings.kind, settings.merge, settings.chunk_sentences, settings.weights) == (
        "embedding",
        "size-weighted",
        1,
        None,
    )
    for mode in ("tree", "hybrid+tree"):
        record = retrieved("--mode", mode, "-k", 3, "--node-threshold", "-1")
        assert record["retrieval"]["mode"] == mode and len(record["contexts"]) == 3
        assert any("source" in context for context in record["contexts"])
    (place / "more.jsonl").write_text(json.dumps({"id": "new", "text": "Ice came. It went."}))
    (place / "gone").write_text("d0\n")
    grasp("index", "more.jsonl", "-x", "x", "--append", "--delete-ids", "gone")
    trees = Index(place / "x").trees
    assert trees.place("new") is not None and trees.place("d0") is None
    verify(place / "x")
    with pytest.raises(UsageError, match="made with --merge size-weighted, not mean-of-two"):
        grasp("index", "more.jsonl", "-x", "x", "--append", "--merge", "mean-of-two")


def test_trained_weights_are_kept_in_the_index(model: Path, place: Path) -> None:
    given = weights(model, place / "w", encoder=True)
    index(model, "--with-tree", "--tree-weights", given)
    kept = Index(place / "x")
    settings = kept.manifest.settings.tree
    assert settings is not None and settings.kind == "attention" and settings.weights
    for path in given.iterdir():
        path.unlink()
    assert retrieved("--mode", "tree")["contexts"]
    (place / "more.jsonl").write_text(json.dumps({"id": "new", "text": "Ice came. It went."}))
    grasp("index", "more.jsonl", "-x", "x", "--append")
    verify(place / "x")
    assert (place / "x" / "tree" / "weights" / "tree.safetensors").is_file()


def test_weights_of_another_encoder_are_refused(model: Path, place: Path) -> None:
    other = weights(model, place / "w", sha256=SHA)
    with pytest.raises(ProcessingError, match=r"trained on tiny \(2 layers of 2 heads, width 32\)"):
        index(model, "--with-tree", "--tree-weights", other)
    assert not (place / "x").exists()


@pytest.mark.parametrize(
    "options, said",
    [
        (["--merge", "size-weighted"], "--merge is of trees: add --with-tree"),
        (["--tree", "attention"], "--tree is of trees"),
        (["--chunk-sentences", "3"], "--chunk-sentences is of trees"),
    ],
)
def test_options_without_trees(options: list[str], said: str, place: Path) -> None:
    with pytest.raises(UsageError, match=said):
        grasp("index", "d.jsonl", *options)


def test_weights_are_of_attention(model: Path, place: Path) -> None:
    given = weights(model, place / "w")
    with pytest.raises(UsageError, match="leave --tree embedding out"):
        index(model, "--with-tree", "--tree", "embedding", "--tree-weights", given)


def test_an_index_without_trees(model: Path, place: Path) -> None:
    index(model)
    for mode in ("tree", "hybrid+tree"):
        with pytest.raises(UsageError, match=r"has no trees; make it again: .* --with-tree"):
            grasp("retrieve", "-q", "ice", "-x", "x", "--mode", mode)
    with pytest.raises(UsageError, match="has no trees"):
        grasp("explain", "-x", "x", "--tree", "d0")
    with pytest.raises(UsageError, match="was made without trees"):
        grasp("index", "d.jsonl", "-x", "x", "--append", "--with-tree")


def test_ranks_only(model: Path, place: Path) -> None:
    index(model, "--with-tree")
    with pytest.raises(UsageError, match="--mode tree fuses by ranks: leave --fusion out"):
        grasp("retrieve", "-q", "x", "-x", "x", "--mode", "tree", "--fusion", "weighted")
