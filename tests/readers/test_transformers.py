"""The reader in this process, on tiny models and on the embedded one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.models.locate import find
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import MissingError, RecordError
from grasp_cli.readers.prompts import Prompt, base_prefix, base_text, chat_messages
from grasp_cli.readers.reader import ReaderSettings
from grasp_cli.readers.transformers import TransformersReader
from tests.readers.tiny import ASSISTANT, END, random_model, spelling_model

SETTINGS = ReaderSettings(model="", max_new_tokens=12, dtype="float32", threads=1)
PROMPTS = [
    Prompt("strict", "Ada Kerr was born in Leith.", "Where was Ada Kerr born?"),
    Prompt("strict", "", "Où se trouve 北京?"),
    Prompt("strict", "One.\n\nTwo.\n\n\nThree.", "Which is last?"),
]


def reader_of(directory: Path, **settings: Any) -> TransformersReader:
    return TransformersReader(replace(SETTINGS, model=str(directory), **settings))


def generated(directory: Path, text: str, limit: int) -> tuple[list[int], list[int]]:
    """Prompt and greedy continuation by transformers' own `generate`, as an oracle."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=ASSISTANT not in text).input_ids
    with torch.inference_mode():
        whole = model.generate(ids, do_sample=False, max_new_tokens=limit)
    return ids[0].tolist(), whole[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_prefix_cache_gives_what_generate_gives(kind: str, tmp_path: Path) -> None:
    reader = reader_of(random_model(tmp_path, kind=kind))
    for prompt in [*PROMPTS, PROMPTS[0]]:
        tokens, expected = generated(tmp_path, base_text(prompt), 12)
        assert reader._text.tokens(prompt) == tokens
        found = reader._continuer("strict").run(tokens, 12, lambda new: new[-1] == 1)
        assert found == expected
    assert len(reader._continuer("strict")._prefix) >= len(base_prefix("strict"))


def test_chat_template_is_used(tmp_path: Path) -> None:
    reader = reader_of(random_model(tmp_path, chat=True))
    prompt = PROMPTS[0]
    text = f"<begin>[user]{chat_messages(prompt)[0]['content']}{ASSISTANT}"
    tokens, expected = generated(tmp_path, text, 12)
    assert reader._text.tokens(prompt) == tokens
    reply = reader.answer(prompt)
    assert reply.prompt_tokens == len(tokens)
    assert reply.text == reader._text.text(expected).strip()


def test_base_answer_ends_with_its_line(tmp_path: Path) -> None:
    chain = [":", " ", "L", "e", "i", "t", "h", "\n", "Q"]
    reply = reader_of(spelling_model(tmp_path, chain)).answer(PROMPTS[0])
    assert (reply.text, reply.completion_tokens) == ("Leith", 7)
    assert not reply.truncated


def test_chat_answer_ends_with_the_end_token(tmp_path: Path) -> None:
    chain = [ASSISTANT, "Y", "e", "s", "\n", "b", "u", "t", END, "Q"]
    reply = reader_of(spelling_model(tmp_path, chain, chat=True)).answer(PROMPTS[0])
    assert (reply.text, reply.completion_tokens) == ("Yes\nbut", 8)


def test_end_token_of_the_generation_settings(tmp_path: Path) -> None:
    spelling_model(tmp_path, [":", " ", "N", "o", ";", "x"])
    file = tmp_path / "generation_config.json"
    semicolon = reader_of(tmp_path)._text._tokenizer.token_to_id(";")
    file.write_text(json.dumps({**json.loads(file.read_text()), "eos_token_id": [1, semicolon]}))
    reply = reader_of(tmp_path).answer(PROMPTS[0])
    assert (reply.text, reply.completion_tokens) == ("No", 4)


def test_longest_answer(tmp_path: Path) -> None:
    directory = spelling_model(tmp_path, [":", " ", "a", "b", "c", "d"])
    reply = reader_of(directory, max_new_tokens=4).answer(PROMPTS[0])
    assert (reply.text, reply.completion_tokens) == ("abc", 4)


def test_a_long_context_loses_its_end_and_the_question_stays(tmp_path: Path) -> None:
    reader = reader_of(random_model(tmp_path))
    prompt = Prompt("strict", "é word\n" * 2000, "What is it? 北京")
    asked, tokens = reader._fitted(prompt)
    assert len(tokens) <= 4096 - 12
    assert len(tokens) > 4096 - 12 - 10  # no more was cut than needed
    assert prompt.context.startswith(asked.context)
    assert reader._text.text(tokens).endswith("Question: What is it? 北京\nAnswer:")
    assert reader.answer(prompt).truncated


def test_a_question_that_never_fits(tmp_path: Path) -> None:
    reader = reader_of(random_model(tmp_path))
    with pytest.raises(RecordError, match="question alone takes"):
        reader.answer(Prompt("strict", "context", "why " * 2000))


def test_missing_model_names_the_command() -> None:
    with pytest.raises(MissingError, match="grasp models --get paper"):
        reader_of(Path("google/gemma-2b-it")).answer(PROMPTS[0])


def test_nothing_is_loaded_before_the_first_question(tmp_path: Path) -> None:
    reader = reader_of(tmp_path / "absent")
    assert reader.model.endswith("absent")


@pytest.mark.models
def test_embedded_reader(gemma: Path) -> None:
    reader = reader_of(gemma, dtype="auto")
    prompt = Prompt(
        "strict",
        "Tove Bridge\nThe Tove Bridge was designed by Nils Aker.\n\n"
        "Nils Aker\nNils Aker was born in Bergen in 1901.",
        "Where was the designer of the Tove Bridge born?",
    )
    reply = reader.answer(prompt)
    assert reply.text.startswith("Bergen")
    assert "\n" not in reply.text
    assert reply == replace(reader.answer(prompt), seconds=reply.seconds)


@pytest.mark.models
def test_embedded_reader_with_and_without_the_prefix_cache(gemma: Path) -> None:
    reader = reader_of(gemma)
    for prompt in PROMPTS:
        reply = reader.answer(prompt)
        continuer = reader._continuer("strict")
        plain = type(continuer)(reader._network)
        new = plain.run(reader._text.tokens(prompt), 12, reader._is_done)
        assert reply.completion_tokens == len(new)
        assert reader._text.text(new).strip().startswith(reply.text)


@pytest.mark.models
def test_embedded_tokenizer_is_the_one_of_transformers(gemma: Path) -> None:
    reader = reader_of(gemma)
    tokenizer = quiet_transformers().AutoTokenizer.from_pretrained(gemma)
    for prompt in PROMPTS:
        assert reader._text.tokens(prompt) == tokenizer(base_text(prompt)).input_ids


@pytest.fixture(scope="session")
def gemma() -> Path:
    try:
        return find("gemma-3-270m")
    except MissingError as error:
        pytest.skip(str(error))
