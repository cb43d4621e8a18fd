"""Answers kept on disk."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.pipe.errors import ProcessingError, RecordError
from grasp_cli.readers.cache import FILE, AnswerCache, CachedReader, key_of
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import ReaderSettings, Reply, make_reader
from tests.conftest import ROOT
from tests.readers.servers import Said, in_turn, ollama_reply, openai_reply, serving
from tests.readers.tiny import spelling_model

PROMPT = Prompt("strict", "Ada Kerr was born in Leith.", "Where was Ada Kerr born?")
SETTINGS = ReaderSettings(model="tiny", read_timeout=20)
REPLY = {"ollama": ollama_reply("Leith"), "openai": openai_reply("Leith")}


def cached(kind: str, directory: Path, **settings: Any) -> CachedReader:
    reader = make_reader(kind, replace(SETTINGS, **settings))
    return CachedReader(reader, AnswerCache(directory, pytest.fail))


@pytest.mark.parametrize("kind", REPLY)
def test_a_second_run_asks_nobody(tmp_path: Path, kind: str) -> None:
    with serving(lambda path, body: Said(REPLY[kind])) as server:
        first = cached(kind, tmp_path, url=server.url).answer(PROMPT)
    again = cached(kind, tmp_path, url="http://127.0.0.1:9").answer(PROMPT)
    assert len(server.asked) == 1
    assert (first.cached, again) == (False, replace(first, cached=True))


@pytest.mark.parametrize(
    ("prompt", "settings"),
    [
        (PROMPT.with_context("Ada Kerr was born in Oslo."), {}),
        (replace(PROMPT, question="Where?"), {}),
        (replace(PROMPT, style="natural"), {}),
        (PROMPT, {"model": "other"}),
        (PROMPT, {"max_new_tokens": 7}),
    ],
)
@pytest.mark.parametrize("kind", REPLY)
def test_whatever_an_answer_depends_on_is_in_the_key(
    tmp_path: Path, kind: str, prompt: Prompt, settings: dict[str, Any]
) -> None:
    with serving(lambda path, body: Said(REPLY[kind])) as server:
        cached(kind, tmp_path, url=server.url).answer(PROMPT)
        assert not cached(kind, tmp_path, url=server.url, **settings).answer(prompt).cached
    assert len(server.asked) == 2


def test_the_kind_of_server_is_in_the_key() -> None:
    assert key_of("ollama", {"model": "m"}) != key_of("openai", {"model": "m"})
    assert key_of("openai", {"a": 1, "b": 2}) == key_of("openai", {"b": 2, "a": 1})


def test_num_ctx_which_depends_on_the_prompts_before_is_not(tmp_path: Path) -> None:
    with serving(lambda path, body: Said(ollama_reply("x", prompt_eval_count=None))) as server:
        cached("ollama", tmp_path, url=server.url).answer(PROMPT)
        other = cached("ollama", tmp_path, url=server.url)
        other.answer(PROMPT.with_context("word " * 9000))
        assert other.answer(PROMPT).cached


def test_failures_and_cut_contexts_are_not_kept(tmp_path: Path) -> None:
    script = in_turn(
        Said({"error": "boom"}, status=500),
        Said(ollama_reply("half", prompt_eval_count=2047)),
        Said(ollama_reply("whole", prompt_eval_count=9000)),
    )
    prompt = PROMPT.with_context("word " * 9000)
    with serving(script) as server:
        reader = cached("ollama", tmp_path, url=server.url)
        with pytest.raises(RecordError, match="boom"):
            reader.answer(prompt)
        assert reader.answer(prompt).truncated
        assert reader.answer(prompt).text == "whole"
        assert reader.answer(prompt).cached


def test_neither_keys_nor_prompts_nor_addresses_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(lambda path, body: Said(openai_reply("Leith"))) as server:
        cached("openai", tmp_path, url=server.url).answer(PROMPT)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Leith" in stored
    for secret in (b"sk-secret", b"Ada Kerr", b"127.0.0.1"):
        assert secret not in stored


def test_a_local_model_is_known_by_its_files(tmp_path: Path) -> None:
    chain = [":", " ", "L", "e", "i", "t", "h", "\n", "Q"]
    spelling_model(tmp_path / "model", chain)
    settings = {"model": str(tmp_path / "model"), "threads": 1}
    assert cached("transformers", tmp_path / "cache", **settings).answer(PROMPT).text == "Leith"
    again = cached("transformers", tmp_path / "cache", **settings).answer(PROMPT)
    assert (again.text, again.cached) == ("Leith", True)
    spelling_model(tmp_path / "model", [":", " ", "O", "s", "l", "o", "\n", "Q"])
    assert cached("transformers", tmp_path / "cache", **settings).answer(PROMPT).text == "Oslo"


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, pytest.fail)

    def work(start: int) -> None:
        for number in range(start, start + 40):
            cache.put(str(number), Reply(f"answer {number}", 1, 1, 0.5))
            assert cache.get(str(number)) is not None

    threads = [threading.Thread(target=work, args=(20 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [cache.get(str(number)) for number in range(100)]
    assert [reply and reply.text for reply in found] == [f"answer {n}" for n in range(100)]


def test_processes_share_a_cache(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from grasp_cli.readers.cache import AnswerCache;"
        "from grasp_cli.readers.reader import Reply;"
        "cache = AnswerCache(Path(sys.argv[1]), lambda text: sys.exit(text));"
        "[cache.put(str(n), Reply(sys.argv[2], 1, 1, 0.5)) for n in range(int(sys.argv[2]), 120)]"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(start)], cwd=ROOT)
        for start in (0, 30, 60)
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    cache = AnswerCache(tmp_path, pytest.fail)
    assert all(cache.get(str(number)) for number in range(120))


def test_a_damaged_cache_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database, " * 100)
    with pytest.raises(ProcessingError, match=FILE):
        AnswerCache(tmp_path, pytest.fail)
    assert (tmp_path / FILE).read_bytes().startswith(b"this is no database")


def test_a_cache_of_another_version_is_refused(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(ProcessingError, match="format 99"):
        AnswerCache(tmp_path, pytest.fail)


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProcessingError, match="--cache"):
        AnswerCache(tmp_path / "file" / "cache", pytest.fail)


def test_a_cache_that_cannot_be_written_is_said_once_and_costs_nothing_else(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    cache = AnswerCache(tmp_path, said.append)
    cache.put("a", Reply("kept", 1, 1, 0.5))
    cache._base.execute("PRAGMA query_only = on")  # as on a full or read-only disk
    for key in ("b", "c"):
        cache.put(key, Reply("lost", 1, 1, 0.5))
    assert len(said) == 1 and FILE in said[0]
    assert cache.get("b") is None
    kept = cache.get("a")
    assert kept is not None and kept.text == "kept"
