from __future__ import annotations

import pytest

from grasp_cli.pipe.masking import masked


def test_the_value_of_a_variable_named_like_a_secret_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "tiger-42-lily")
    monkeypatch.setenv("HF_TOKEN", "1")  # too short to be one
    assert (
        masked("server said: bad key tiger-42-lily, page 1") == "server said: bad key ***, page 1"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://ada:lovelace@host:1/v1 is down", "http://***@host:1/v1 is down"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("GET https://h/v1?api_key=abc123&n=1", "GET https://h/v1?api_key=***&n=1"),
        ("Incorrect API key: sk-proj-0123456789abcdef", "Incorrect API key: sk-***"),
        ("hf_ABCDEFGHIJKLMNOP", "hf_***"),
        ("the bearer of news, at a@b.c", "the bearer of news, at a@b.c"),
        (
            "no secret here: key=value, http://host/a@b",
            "no secret here: key=value, http://host/a@b",
        ),
    ],
)
def test_what_has_the_shape_of_a_secret_is_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert masked(text) == shown
