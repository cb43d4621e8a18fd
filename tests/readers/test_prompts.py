"""What readers are told."""

from __future__ import annotations

import pytest

from grasp_cli.readers.prompts import (
    EXAMPLES,
    STYLES,
    Prompt,
    base_prefix,
    base_text,
    chat_messages,
)
from grasp_cli.text.refusals import REFUSALS


@pytest.mark.parametrize("style", STYLES)
def test_every_base_prompt_begins_with_the_same_prefix(style: str) -> None:
    prefix = base_prefix(style)
    for prompt in (Prompt(style, "a", "b?"), Prompt(style, "", "c?")):
        assert base_text(prompt).startswith(prefix)
        assert base_text(prompt).endswith(f"Question: {prompt.question}\nAnswer:")
    for example in EXAMPLES:
        assert f"Question: {example.question}\nAnswer: {example.answers[style]}\n" in prefix


@pytest.mark.parametrize("style", STYLES)
def test_an_empty_context_is_left_out(style: str) -> None:
    alone = Prompt(style, " \n", "Why?")
    assert "Context" not in base_text(alone)[len(base_prefix(style)) :]
    [message] = chat_messages(alone)
    assert message["content"] == f"{STYLES[style].instruction}\n\nQuestion: Why?"


def test_chat_form_holds_instruction_context_and_question() -> None:
    [message] = chat_messages(Prompt("strict", "Title\nText.", "Why?"))
    assert message["role"] == "user"
    assert message["content"].endswith("\n\nContext:\nTitle\nText.\n\nQuestion: Why?")


def test_the_refusals_that_are_asked_for_are_in_the_table() -> None:
    asked = [style.instruction.rsplit(": ", 1)[1].rstrip(".").lower() for style in STYLES.values()]
    assert set(asked) <= set(REFUSALS)
