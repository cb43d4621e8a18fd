"""`grasp doctor`: what it finds, and what it leaves alone."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grasp_cli.cli.main import app
from grasp_cli.doctor import installation, places, servers, weights
from grasp_cli.doctor.finding import Finding
from grasp_cli.pipe.errors import MissingError
from tests.compression import tiny
from tests.readers.servers import Body, Said, serving
from tests.retrieval.conftest import MakeIndex, make_index  # noqa: F401 - a fixture


def only(found: Iterable[Finding]) -> Finding:
    (one,) = found
    return one


def states(found: Iterable[Finding]) -> list[str]:
    return [one.state for one in found]


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty place, without what takes long to look at."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "OLLAMA_HOST", "GRASP_PROFILE", "GRASP_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for module, name in ((installation, "devices"), (weights, "pickled")):
        monkeypatch.setattr(module, name, lambda: iter(()))
    held = lambda name: f"/here/{name}"  # noqa: E731
    monkeypatch.setattr(weights, "described", held)


def doctor(*arguments: str) -> tuple[dict[str, Any], int]:
    done = CliRunner().invoke(app, ["doctor", "--format", "json", *arguments])
    code = getattr(done.exception, "exit_code", done.exit_code)
    return json.loads(done.stdout), code


def of(value: dict[str, Any], subject: str) -> list[dict[str, Any]]:
    return [found for found in value["findings"] if found["subject"] == subject]


def test_a_profile_that_can_run(light: None) -> None:
    value, code = doctor()
    assert (value["profile"], value["can_run"], code) == ("embedded", True, 0)
    assert {"version", "extra", "model", "index", "server", "disk"} <= {
        found["subject"] for found in value["findings"]
    }
    assert [found["name"] for found in of(value, "model")][-1] == "reader"


def test_a_profile_whose_model_is_missing(light: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise MissingError(f"{name} is not here: get it")

    monkeypatch.setattr(weights, "described", missing)
    value, code = doctor()
    assert (value["can_run"], code) == (False, 3)
    assert all("get it" in found["text"] for found in of(value, "model"))


def test_the_paper_profile_needs_its_server(light: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda path, body: Said({"models": [{"model": "llama3.1:8b"}]})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        value, code = doctor("--profile", "paper")
        assert (of(value, "server")[0]["state"], code) == ("ok", 0)
    value, code = doctor("--profile", "paper")
    assert code == 3
    assert "ollama serve" in of(value, "server")[0]["text"]


def test_the_configuration_decides_what_is_looked_at(light: None, tmp_path: Path) -> None:
    def listing(path: str, body: Body) -> Said:
        asked.append(path)
        return Said({"data": [{"id": "mine"}]})

    asked: list[str] = []
    with serving(listing) as server:
        Path("grasp.toml").write_text(
            f'index = "ix"\n[compress]\nclassifier = "my/own"\n'
            f'[answer]\nreader = "openai"\nreader-model = "mine"\nurl = "{server.url}/v1"'
        )
        value, code = doctor()
    assert code == 0
    assert asked == ["/v1/models"]
    assert of(value, "index")[0]["name"] == "ix"
    assert [f["text"] for f in of(value, "model") if f["name"] == "classifier"] == [
        "my/own: /here/my/own"
    ]
    assert of(value, "configuration")[0]["text"] == "grasp.toml"


def test_a_wrong_configuration_is_a_finding_not_the_end(light: None) -> None:
    Path("grasp.toml").write_text("top-kk = 1")
    value, code = doctor()
    assert code == 3
    assert of(value, "configuration")[0]["state"] == "bad"
    assert "top-k" in of(value, "configuration")[0]["text"]


def test_no_server_is_asked_where_none_is_configured(
    light: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert doctor()[1] == 0


def test_the_table_is_for_people(light: None) -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.stdout.splitlines()[0].split() == ["state", "subject", "name", "text"]


def test_versions_are_those_that_pip_knows() -> None:
    found = {one.name: one for one in installation.versions()}
    assert found["orjson"].text == metadata.version("orjson")
    assert all(one.state == "ok" for one in found.values())


def test_packages_that_are_missing_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["here>=2", "old>=2", "gone>=1", 'more>=1; extra == "plus"', 'x; extra == "dev"']
    held = {"here": "2.1", "old": "1.0"}
    monkeypatch.setattr(installation.metadata, "requires", lambda name: needs)
    monkeypatch.setattr(installation, "_version", held.get)
    found = {one.name: one for one in installation.versions()}
    assert [found[name].state for name in ("here", "old", "gone")] == ["ok", "note", "bad"]
    assert "pip install 'gone>=1'" in found["gone"].text
    assert "more" not in found

    class Told:
        def get_all(self, key: str) -> list[str]:
            return ["plus", "dev"]

    monkeypatch.setattr(installation.metadata, "metadata", lambda name: Told())
    extra = only(installation.extras())
    assert (extra.name, extra.state) == ("plus", "note")
    assert extra.text == "more missing: pip install 'grasp-cli[plus]'"


def test_devices_come_with_a_reason() -> None:
    found = {one.name: one.text for one in installation.devices()}
    assert any(word in found["encoders"] for word in ("float32 (", "bfloat16 ("))
    assert "(" in found["causal models, T5, cross-encoders"]


def test_a_model_by_path(tmp_path: Path) -> None:
    path = tiny.bert(tmp_path / "bert")
    found = {one.name: one for one in weights.weights("embedded", {"classifier": str(path)})}
    assert found["classifier"].state == "ok"
    assert "Bert" in found["classifier"].text and "MB" in found["classifier"].text
    gone = {one.name: one for one in weights.weights("embedded", {"dense": str(tmp_path / "no")})}
    assert gone["dense"].state == "bad"


def test_a_checkpoint_that_is_only_a_pickle_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytorch_model.bin").touch()
    wanted = "fangyuan/nq_extractive_compressor"
    monkeypatch.setattr(
        weights, "locate", lambda hub: tmp_path if hub.repository == wanted else None
    )
    found = only(weights.pickled())
    assert (found.name, found.state) == (wanted, "note")
    assert ".bin only" in found.text
    (tmp_path / "model.safetensors").touch()
    assert list(weights.pickled()) == []


def test_an_index_that_is_whole_damaged_or_absent(
    tmp_path: Path,
    make_index: MakeIndex,  # noqa: F811
) -> None:
    index = make_index([{"id": str(n), "text": f"text {n}"} for n in range(9)])
    directory = index.directory
    profile = index.manifest.profile
    found = only(places.index(directory, profile))
    assert found.state == "ok" and "9 documents" in found.text
    assert states(places.index(directory, "paper" if profile == "embedded" else "embedded")) == [
        "ok",
        "note",
    ]
    assert states(places.index(tmp_path / "none", profile)) == ["note"]
    with open(directory / "vectors.bin", "ab") as stream:
        stream.write(b"x")
    assert states(places.index(directory, profile)) == ["bad"]
    (directory / "index.json").write_text("{")
    assert states(places.index(directory, profile)) == ["bad"]


@pytest.mark.parametrize(
    ("said", "state", "text"),
    [
        (Said({"data": [{"id": "mine"}]}), "ok", "1 models"),
        (Said({"data": [{"id": "other"}]}), "bad", "does not list mine; it has other"),
        (Said({"error": "no"}, status=401), "bad", "refused the key"),
        (Said({"error": "no"}, status=404), "ok", "not known"),
        (Said([1]), "ok", "not known"),
        (Said(b"<html>"), "ok", "not known"),
    ],
)
def test_a_server_of_openais_kind(
    said: Said, state: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(lambda path, body: said) as server:
        url = server.url.replace("//", "//name:password@")
        found = only(servers.servers("openai", "mine", f"{url}/v1/"))
    assert (found.state, text in found.text) == (state, True), found
    assert "secret" not in found.text and "password" not in found.text


def test_an_ollama_server() -> None:
    models = {"models": [{"model": "tiny:latest"}, {"model": "llama3.1:8b"}]}
    with serving(lambda path, body: Said(models)) as server:
        assert states(servers.servers("ollama", "llama3.1:8b", server.url)) == ["ok"]
        assert states(servers.servers("ollama", "tiny", server.url)) == ["ok"]
        missing = only(servers.servers("ollama", "qwen2.5:3b", server.url))
    assert missing.state == "bad" and "ollama pull qwen2.5:3b" in missing.text
    assert states(servers.servers("ollama", "tiny", server.url)) == ["bad"]


def test_a_server_that_the_reader_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    assert states(servers.servers("transformers", "", None)) == ["note"]


def test_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASP_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert states(places.disks()) == ["ok", "ok"]
    monkeypatch.setattr(places.shutil, "disk_usage", lambda path: type("U", (), {"free": 5e6}))
    assert states(places.disks()) == ["note", "note"]
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)
    assert "cannot be written" in next(places.disks()).text
