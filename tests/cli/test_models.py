"""`grasp models` as a user meets it; the hub is one in this process."""

from __future__ import annotations

import json
from pathlib import Path

from grasp_cli.models.profiles import PROFILES, models_of
from tests.conftest import Run
from tests.models.hub import hub
from tests.readers.servers import Said, serving

REPOSITORIES = {
    "facebook/contriever-msmarco": {
        "config.json": b"{}",
        "pytorch_model.bin": b"pickle",
        "vocab.txt": b"a",
    },
    "google/flan-t5-small": {
        "config.json": b"{}",
        "model.safetensors": b"weights",
        "pytorch_model.bin": b"pickle",
        "flax_model.msgpack": b"other",
        "spiece.model": b"pieces",
    },
    "google/gemma-2b-it": {"config.json": b"{}", "model.safetensors": b"weights"},
    "doubleyyh/exit-gemma-2b": {
        "adapter_config.json": b"{}",
        "adapter_model.safetensors": b"adapter",
    },
    "sentence-transformers/all-MiniLM-L6-v2": {},
}


def test_list_in_each_format(grasp: Run, tmp_path: Path) -> None:
    settings = {
        "HF_HOME": str(tmp_path / "hf"),
        "OLLAMA_HOST": "http://127.0.0.1:9",
        "GRASP_CACHE": str(tmp_path / "cache"),
    }
    table = grasp("models", **settings)
    rows = json.loads(grasp("models", "--format", "json", **settings).stdout)
    tabs = grasp("models", "--format", "tsv", **settings).stdout.splitlines()
    expected = [
        (profile, role, model.name) for profile in PROFILES for role, model in models_of(profile)
    ]
    assert [(row["profile"], row["role"], row["model"]) for row in rows] == expected
    assert [tuple(line.split("\t")[:3]) for line in tabs[1:]] == expected
    assert len(table.stdout.splitlines()) == len(expected) + 1
    assert table.returncode == 0
    assert table.stderr == ""
    flan = next(row for row in rows if row["model"] == "google/flan-t5-small")
    assert (flan["present"], flan["where"]) == (False, "")
    assert "\x1b" not in table.stdout


def test_what_ollama_holds(grasp: Run) -> None:
    listed = {"models": [{"model": "qwen2.5:3b", "name": "qwen2.5:3b"}]}
    with serving(lambda path, body: Said(listed)) as server:
        done = grasp("models", "--format", "json", OLLAMA_HOST=server.url)
    here = {row["model"]: (row["present"], row["where"]) for row in json.loads(done.stdout)}
    assert here["qwen2.5:3b"] == (True, "")
    assert here["llama3.1:8b"] == (False, "ollama pull llama3.1:8b")


def test_get_fetches_all_but_what_is_gated(grasp: Run, tmp_path: Path) -> None:
    home = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    with hub(REPOSITORIES, frozenset({"google/gemma-2b-it"})) as server:
        done = grasp("models", "--get", "paper", HF_ENDPOINT=server.url, HF_TOKEN="hf_x", **home)
    assert (done.returncode, done.stdout) == (3, "")
    assert server.tokens == {"Bearer hf_x"}
    gated = "google/gemma-2b-it is gated: accept its licence at https://huggingface.co/google/gemma"
    assert gated in done.stderr
    assert "hf_x" not in done.stderr
    assert "ollama pull llama3.1:8b" in done.stderr
    fetched = {name for name in server.fetched if "MiniLM" not in name}
    assert fetched == {
        "facebook/contriever-msmarco/config.json",
        "facebook/contriever-msmarco/pytorch_model.bin",
        "facebook/contriever-msmarco/vocab.txt",
        "google/flan-t5-small/config.json",
        "google/flan-t5-small/model.safetensors",
        "google/flan-t5-small/spiece.model",
        "doubleyyh/exit-gemma-2b/adapter_config.json",
        "doubleyyh/exit-gemma-2b/adapter_model.safetensors",
    }
    assert "only pytorch_model.bin is there" in done.stderr
    rows = json.loads(grasp("models", "--format", "json", **home).stdout)
    here = {row["model"] for row in rows if row["present"] and row["source"].startswith("hub")}
    assert here == {
        "facebook/contriever-msmarco",
        "google/flan-t5-small",
        "doubleyyh/exit-gemma-2b",
    }


def test_get_without_a_network(grasp: Run, tmp_path: Path) -> None:
    done = grasp(
        *("models", "--get", "paper"),
        HF_ENDPOINT="http://127.0.0.1:9",
        HF_HOME=str(tmp_path),
        HF_HUB_OFFLINE="0",
    )
    assert done.returncode == 3
    assert "the hub cannot be reached" in done.stderr
    assert done.stderr.count("\n") == 1


def test_get_with_the_hub_switched_off(grasp: Run, tmp_path: Path) -> None:
    done = grasp("models", "--get", "paper", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert done.returncode == 3
    assert "HF_HUB_OFFLINE" in done.stderr


def test_get_of_a_repository_that_is_not_there(grasp: Run, tmp_path: Path) -> None:
    with hub({}, frozenset()) as server:
        done = grasp(
            *("models", "--get", "paper"),
            HF_ENDPOINT=server.url,
            HF_HOME=str(tmp_path),
            HF_HUB_OFFLINE="0",
        )
    assert done.returncode == 3
    assert "google/flan-t5-small: the hub does not show this model" in done.stderr
