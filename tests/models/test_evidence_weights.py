"""Trained evidence models on disk: differences of low rank, and what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from safetensors.torch import load_file, save_file

from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.models.evidence_network import EvidenceNetwork
from grasp_cli.models.evidence_weights import (
    CONFIG,
    FORMAT,
    WEIGHTS,
    EvidenceConfig,
    compressed,
    difference,
    encoder_of,
    is_evidence,
    merge,
    read_config,
    save_weights,
    write_config,
)
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, ProcessingError
from tests.compression import tiny
from tests.training.synthetic import Trained

HALF = 2.0**-10  # float16 rounds to half of this, relatively


def parameters(seed: int, scale: float = 1.0) -> dict[str, Any]:
    torch = torch_runtime(1)
    torch.manual_seed(seed)
    shapes = {"matrix": (24, 40), "narrow": (24, 3), "vector": (24,)}
    return {name: scale * torch.randn(shape) for name, shape in shapes.items()}


BASE = parameters(1)
TUNED = {name: BASE[name] + change for name, change in parameters(2, 0.01).items()}


def test_whole_differences_come_back_within_float16() -> None:
    stored = compressed(BASE, TUNED, None)
    assert {name: str(value.dtype) for name, value in stored.items()} == dict.fromkeys(
        BASE, "torch.float16"
    )
    for name, value in difference(stored).items():
        wanted = (TUNED[name] - BASE[name]).numpy()
        np.testing.assert_allclose(value.numpy(), wanted, rtol=HALF, atol=1e-7)


def test_low_rank_is_the_best_that_there_is() -> None:
    stored = compressed(BASE, TUNED, 5)
    assert stored["matrix.a"].shape == (24, 5) and stored["matrix.b"].shape == (5, 40)
    found = difference(stored)["matrix"].numpy()
    wanted = (TUNED["matrix"].double() - BASE["matrix"].double()).numpy()
    left, sizes, right = np.linalg.svd(wanted, full_matrices=False)
    np.testing.assert_allclose(found, (left[:, :5] * sizes[:5]) @ right[:5], atol=1e-4)
    least = np.sqrt((sizes[5:] ** 2).sum())  # Eckart and Young 1936
    assert np.linalg.norm(wanted - found) == pytest.approx(least, rel=1e-3)


def test_what_factors_would_not_make_smaller_is_stored_whole() -> None:
    assert sorted(compressed(BASE, TUNED, 5)) == ["matrix.a", "matrix.b", "narrow", "vector"]
    assert sorted(compressed(BASE, TUNED, 15)) == [
        "matrix",
        "narrow",
        "vector",
    ]  # 15 · 64 = 24 · 40


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


def tuned(base: Path) -> EvidenceNetwork:
    torch = torch_runtime(1)
    network = EvidenceNetwork(base, threads=1)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in [*network.encoder.parameters(), *network.head.parameters()]:
            parameter.add_(0.01 * torch.randn(parameter.shape))
    return network


def held(network: EvidenceNetwork) -> dict[str, Any]:
    """Copies of the encoder's parameters."""
    return {name: value.detach().clone() for name, value in network.encoder.named_parameters()}


def test_a_saved_difference_is_merged_into_a_fresh_network(tmp_path: Path, base: Path) -> None:
    network, fresh = tuned(base), EvidenceNetwork(base, threads=1)
    own, before = held(network), held(fresh)
    projection = np.random.default_rng(0).normal(size=(32, 32))
    save_weights(tmp_path, compressed(before, own, None), network.head.state_dict(), projection)
    assert [file.name for file in tmp_path.iterdir()] == [WEIGHTS]
    (tmp_path / "other").touch()
    modes = {(tmp_path / name).stat().st_mode for name in (WEIGHTS, "other")}
    assert len(modes) == 1, "others may read it as any file"
    np.testing.assert_allclose(merge(fresh, tmp_path), projection, rtol=HALF, atol=1e-6)
    for name, value in held(fresh).items():
        assert float((value - own[name]).abs().max()) < 0.05 * HALF
        assert float((value - before[name]).abs().max()) > 0.01
    for name, value in fresh.head.state_dict().items():
        np.testing.assert_allclose(value, network.head.state_dict()[name], rtol=HALF, atol=1e-7)


@pytest.mark.parametrize("how", ["name", "shape"])
def test_weights_of_another_encoder_are_not_merged(tmp_path: Path, base: Path, how: str) -> None:
    torch, network = torch_runtime(1), tuned(base)
    fresh = EvidenceNetwork(base, threads=1)
    before = held(fresh)
    stored = compressed(before, held(network), None)
    name = "encoder.layer.1.output.dense.weight"
    stored[name if how == "shape" else "decoder.weight"] = torch.zeros((3, 3)).half()
    save_weights(tmp_path, stored, network.head.state_dict(), np.eye(32))
    wrong = name if how == "shape" else "decoder.weight"
    with pytest.raises(ProcessingError, match=rf"another encoder than .*\({wrong}\)"):
        merge(fresh, tmp_path)
    same = [bool((value == before[key]).all()) for key, value in held(fresh).items()]
    assert all(same), "nothing is merged in part"


def test_settings_come_back(tmp_path: Path) -> None:
    config = EvidenceConfig("b", "c", "d", [1.0, 2.5], -0.5, 0.25, {"tight": 0.9}, 0.3)
    write_config(config, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [CONFIG]
    assert read_config(tmp_path) == config and is_evidence(tmp_path)


def test_which_directories_hold_one(evidence: Trained, tmp_path: Path) -> None:
    assert is_evidence(evidence.directory)
    assert not is_evidence(evidence.base) and not is_evidence(tmp_path)
    assert encoder_of(str(evidence.directory)) == str(evidence.base)
    assert encoder_of(str(evidence.base)) == str(evidence.base)


@pytest.fixture
def copied(evidence: Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evidence.directory, tmp_path / "copied"))


def test_the_trained_directory_is_whole(evidence: Trained, copied: Path) -> None:
    EvidenceHead(copied, threads=1).load()
    assert load_file(copied / WEIGHTS)["projection"].shape == (32, 32)


def test_damaged_weights_are_refused(copied: Path) -> None:
    data = bytearray((copied / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (copied / WEIGHTS).write_bytes(data)
    with pytest.raises(MissingError, match=r"evidence\.safetensors: damaged weights.*train"):
        EvidenceHead(copied).load()


def test_weights_that_are_not_there_are_said(copied: Path) -> None:
    (copied / WEIGHTS).unlink()
    with pytest.raises(MissingError, match=r"evidence\.safetensors.* is not there: train it again"):
        EvidenceHead(copied).load()


def test_another_base_is_refused(evidence: Trained, copied: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(evidence.base, tmp_path / "other"))
    values = load_file(other / "model.safetensors")
    values["embeddings.word_embeddings.weight"][0, 0] += 1
    save_file(values, other / "model.safetensors", {"format": "pt"})
    write_config(replace(read_config(copied), base=str(other)), copied)
    with pytest.raises(MissingError, match=r"model\.safetensors: not the encoder it was made of"):
        EvidenceHead(copied).load()


def test_a_base_that_is_not_here_is_named(copied: Path) -> None:
    write_config(replace(read_config(copied), base="nobody/nothing"), copied)
    with pytest.raises(MissingError, match="nobody/nothing"):
        EvidenceHead(copied)


def test_a_newer_format_is_refused(copied: Path) -> None:
    values = orjson.loads((copied / CONFIG).read_bytes())
    (copied / CONFIG).write_bytes(orjson.dumps({**values, "format": FORMAT + 1, "more": 1}))
    with pytest.raises(MissingError, match=rf"format {FORMAT + 1} .* reads {FORMAT}: install"):
        EvidenceHead(copied)


def test_another_number_of_features_is_refused(copied: Path) -> None:
    write_config(replace(read_config(copied), features=[1.0]), copied)
    with pytest.raises(MissingError, match="calibrated on 1 features"):
        EvidenceHead(copied)


def test_settings_that_are_not_known_are_named(copied: Path) -> None:
    values = orjson.loads((copied / CONFIG).read_bytes())
    (copied / CONFIG).write_bytes(orjson.dumps({**values, "colour": 1}))
    with pytest.raises(ProcessingError, match="colour"):
        read_config(copied)
