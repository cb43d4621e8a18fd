"""What the baselines state of themselves holds together: settings, models, documentation."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from grasp_cli.compression.baselines.registry import BASELINES
from grasp_cli.compression.methods import METHODS
from grasp_cli.defaults import PUBLISHED, CompressDefaults, compress_settings
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import MissingError
from tests.conftest import ROOT


def test_a_published_model_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grasp_cli.models.locate._in_hub_cache", lambda name: None)
    for name, baseline in BASELINES.items():
        assert bool(baseline.compressor) == ("compressor" in baseline.roles), name
        if baseline.compressor:
            with pytest.raises(MissingError, match=f"hf download {baseline.compressor}"):
                find(baseline.compressor)


def test_published_settings_are_options_of_methods() -> None:
    known = {field.name for field in fields(CompressDefaults)}
    for method, own in PUBLISHED.items():
        assert method in METHODS and set(own) <= known
        found = compress_settings(method)
        assert {name: getattr(found, name) for name in own} == own
    assert compress_settings("grasp") == CompressDefaults()
    given = compress_settings("ragcompress", redundancy=False, budget=None, top_k_spans=3)
    assert (given.redundancy, given.budget, given.top_k_spans) == (False, "adaptive", 3)


def test_every_method_has_a_row_in_the_readme_with_its_model() -> None:
    section = (ROOT / "README.md").read_text().partition("## Methods")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*)$", section, flags=re.MULTILINE))
    assert list(rows) == list(METHODS)
    for name, baseline in BASELINES.items():
        assert baseline.compressor in rows[name]
