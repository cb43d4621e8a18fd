"""The tables of models."""

from __future__ import annotations

import hashlib

import pytest

from grasp_cli.cli.compress_options import Preset
from grasp_cli.models.evidence_weights import read_config
from grasp_cli.models.locate import locate
from grasp_cli.models.profiles import (
    MODELS,
    PROFILES,
    ROLES,
    Packaged,
    PackagedGguf,
    Shipped,
    model_for,
    models_of,
    profile_of,
)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_role_has_a_known_model(profile: str) -> None:
    assert set(PROFILES[profile]) == set(ROLES)
    for role in ROLES:
        assert model_for(profile, role) in MODELS


def test_an_adapter_brings_its_base() -> None:
    names = [model.name for role, model in models_of("paper") if role == "classifier"]
    assert names == ["doubleyyh/exit-gemma-2b", "google/gemma-2b-it"]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_belongs_to_a_profile(name: str) -> None:
    profile = profile_of(name)
    assert profile is not None
    assert name in [model.name for _, model in models_of(profile)]


def test_embedded_models_come_as_pinned_packages_with_a_hash() -> None:
    for _, model in models_of("embedded"):
        source = model.sources[0]
        if isinstance(source, Shipped):
            continue  # the next test
        assert isinstance(source, Packaged | PackagedGguf)
        files = source.parts if isinstance(source, PackagedGguf) else (source.weights,)
        assert all("==" in file.requirement for file in files)
        assert len(source.sha256) == 64


def test_shipped_models_are_in_the_package_and_state_their_own_hashes() -> None:
    shipped = [model for model in MODELS.values() if isinstance(model.sources[0], Shipped)]
    assert [model.name for model in shipped] == ["grasp-evidence"]
    for model in shipped:
        directory = locate(model.sources[0])
        if directory is None:
            pytest.skip("the weights are not in this checkout")
        config = read_config(directory)
        assert model.needs == (config.base,), "the base by its name, not a path"
        base = MODELS[config.base].sources[0]
        assert isinstance(base, Packaged) and config.base_sha256 == base.sha256
        weights = directory / "evidence.safetensors"
        assert config.weights_sha256 == hashlib.sha256(weights.read_bytes()).hexdigest()
        assert set(config.presets) == {preset.value for preset in Preset}
        assert abs(weights.stat().st_size / 1e6 - (model.megabytes or 0)) < 1
        assert (directory / "README.md").is_file()


def test_pins_are_those_of_the_extra() -> None:
    tomllib = pytest.importorskip("tomllib")
    from tests.conftest import ROOT

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["embedded"]
    for _, model in models_of("embedded"):
        for source in model.sources:
            if isinstance(source, Packaged):
                assert source.weights.requirement in extra
            elif isinstance(source, PackagedGguf):
                assert {part.requirement for part in source.parts} <= set(extra)
