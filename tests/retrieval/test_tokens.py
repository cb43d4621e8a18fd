"""Words for BM25 in several scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.retrieval.tokens import STEMMERS, STOP_WORDS, Tokenizer, count_words

WORDS = [
    ("The River froze, twice!", ["the", "river", "froze", "twice"]),
    ("in 1958 at 3.5 m", ["in", "1958", "at", "3", "5", "m"]),
    ("Lothair's mother", ["lothair", "mother"]),
    ("Lothair’s mother", ["lothair", "mother"]),
    ("it's'", ["it"]),
    ("snake_case", ["snake", "case"]),
    ("Straße STRASSE", ["strasse", "strasse"]),
    ("ﬁne Ｗｉｄｅ Ⅳ", ["fine", "wide", "iv"]),
    ("水库建成", ["水库", "库建", "建成"]),
    ("水", ["水"]),
    ("它于1958年", ["它于", "1958", "年"]),
    ("カタカナ", ["カタ", "タカ", "カナ"]),
    ("ｶﾅ", ["カナ"]),
    ("น้ำ", ["น\u0e49", "\u0e49\u0e4d", "\u0e4dา"]),  # NFKC parts the last sign
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("Привет МИР", ["привет", "мир"]),
    ("한국어 문장", ["한국어", "문장"]),
    ("🍜 !?", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words(text: str, words: list[str]) -> None:
    assert Tokenizer().words(text) == words


@given(st.text("aA bB'’s_,.019", max_size=30))
def test_plain_text_is_cut_like_any_other(text: str) -> None:
    """ASCII goes a faster way; a letter from elsewhere must not change the other words."""
    assert Tokenizer().words(text + " é") == [*Tokenizer().words(text), "é"]


@given(st.text(max_size=60))
def test_case_does_not_matter_and_words_are_not_empty(text: str) -> None:
    words = Tokenizer().words(text)
    assert all(words)
    assert Tokenizer().words(text.casefold()) == words or not text.isascii()


def test_stop_words() -> None:
    assert Tokenizer("english").words("What is the River of the north?") == ["river", "north"]
    assert all(word == word.lower() and word.isascii() for word in STOP_WORDS["english"])


STEMS = [
    ("english", "The frozen rivers were freezing", ["the", "frozen", "river", "were", "freez"]),
    ("german", "Die Häuser am Fluss", ["die", "haus", "am", "fluss"]),
    ("none", "rivers", ["rivers"]),
    ("english", "水库建成", ["水库", "库建", "建成"]),
]


@pytest.mark.parametrize(("language", "text", "words"), STEMS)
def test_stems(language: str, text: str, words: list[str]) -> None:
    assert Tokenizer(stem=language).words(text) == words


def test_stop_words_are_left_out_before_words_are_stemmed() -> None:
    assert Tokenizer("english", "english").words("Doing things having been done") == [
        "thing",
        "done",
    ]


@pytest.mark.parametrize("language", STEMMERS)
@given(st.text(max_size=30))
def test_no_stemmer_fails_or_loses_a_word(language: str, text: str) -> None:
    stems = Tokenizer(stem=language).words(text)
    assert all(stems) and len(stems) == len(Tokenizer().words(text))


def test_settings_come_back() -> None:
    tokenizer = Tokenizer("english", "german")
    assert Tokenizer.of(tokenizer.settings()) == tokenizer


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"version": 99, "stop_words": "none", "stem": "none"},
        {"version": 1, "stop_words": "klingon", "stem": "none"},
        {"version": 1, "stop_words": "none", "stem": "klingon"},
        {"version": 1, "stop_words": "none"},
    ],
)
def test_unknown_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ProcessingError, match="tokenizer"):
        Tokenizer.of(settings)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("one two\nthree", 3), ("über alles", 2), ("水库建成", 4), ("于1958年 ok", 4)],
)
def test_count(text: str, count: int) -> None:
    assert count_words(text) == count
