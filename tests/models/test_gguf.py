"""GGUF files become model directories, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.models import gguf
from grasp_cli.models.gguf import converted, converted_directory
from grasp_cli.models.locate import find, installed_file, sha256_of
from grasp_cli.models.profiles import GEMMA_3_270M, PackagedGguf
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import MissingError
from tests.models.tiny_gguf import write_gguf

pytest.importorskip("gguf", reason="needs pip install 'grasp-cli[embedded]'")
pytest.importorskip("accelerate", reason="needs pip install 'grasp-cli[embedded]'")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GRASP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def logits(directory: Path, text: str, **options: Any) -> Any:
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **options)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.bfloat16, **options
    )
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        return ids.tolist(), model.eval()(input_ids=ids).logits


def test_the_converted_model_is_the_same_model(
    cache: Path, tiny: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = find(str(tiny))
    assert directory.is_relative_to(cache)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "converting tiny.gguf once" in said
    assert not list(directory.glob("*.gguf"))
    text = "Ada Kerr was born in Leith."
    ids, values = logits(directory, text)
    expected_ids, expected = logits(tiny.parent, text, gguf_file=tiny.name)
    assert ids == expected_ids
    assert values.equal(expected)


def test_the_second_time_nothing_is_converted(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find(str(tiny))
    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("converted again"))
    assert find(str(tiny)) == first


def test_parts_are_joined(cache: Path, tiny: Path, tmp_path: Path) -> None:
    data = tiny.read_bytes()
    parts = [tmp_path / f"tiny.gguf.part{number}" for number in range(2)]
    parts[0].write_bytes(data[:1000])
    parts[1].write_bytes(data[1000:])
    assert sha256_of(parts) == sha256_of([tiny])
    assert converted(parts, sha256_of(parts)) == find(str(tiny))


def test_two_processes_at_once_convert_once(cache: Path, tiny: Path) -> None:
    code = "import sys; from grasp_cli.models.locate import find; print(find(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tiny)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], results
    assert len({out for out, _ in results}) == 1
    assert sum(err.count("converting") for _, err in results) == 1


def test_a_failed_conversion_leaves_nothing(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(directory: Path, built: Path) -> None:
        built.mkdir()
        (built / "config.json").write_text("{}")
        raise OSError("disk full")

    monkeypatch.setattr(gguf, "_save", fail)
    with pytest.raises(OSError, match="disk full"):
        find(str(tiny))
    assert [file.suffix for file in (cache / "models").iterdir()] == [".lock"]


def test_what_a_killed_process_left_is_removed(cache: Path, tiny: Path) -> None:
    target = converted_directory(sha256_of([tiny]))
    left_over = target.parent / f".{target.name}-killed"
    left_over.mkdir(parents=True)
    (left_over / "model.gguf").write_text("half")
    assert find(str(tiny)) == target
    assert not left_over.exists()


def test_a_missing_package_is_named(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"gguf and accelerate.*grasp-cli\[embedded\]"):
        find(str(tiny))


@pytest.mark.models
def test_the_embedded_gemma_is_converted_exactly(tmp_path: Path) -> None:
    """The largest difference of any logit between the GGUF and its conversion is zero."""
    [source] = GEMMA_3_270M.sources
    assert isinstance(source, PackagedGguf)
    parts = [path for part in source.parts if (path := installed_file(part))]
    if len(parts) < len(source.parts):
        pytest.skip("needs pip install 'grasp-cli[embedded]'")
    directory = find("gemma-3-270m")
    gguf._join(parts, tmp_path / "model.gguf")
    text = "Question: où est 北京?\nAnswer:"
    ids, values = logits(directory, text)
    expected_ids, expected = logits(tmp_path, text, gguf_file="model.gguf")
    assert ids == expected_ids
    assert values.equal(expected)
    size = sum(file.stat().st_size for file in directory.iterdir())
    assert size < 600e6
