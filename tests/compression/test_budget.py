from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.budget import _last_true
from grasp_cli.defaults import COMPRESS
from grasp_cli.pipe.engine import Tally, run_stage
from tests.compression.fakes import Words, compressor

TREATY = (
    "The treaty, signed after eleven years of talks between the four coastal states and ratified "
    "by all of them before the end of the decade, says that fishing is banned north of the line. "
    "It was amended twice."
)


def compressed(text: str, title: str = "", **options: Any) -> Any:
    record = {
        "id": "1",
        "question": "What does the treaty say?",
        "contexts": [{"id": "d", "text": text, "title": title}],
    }
    stage = compressor(replace(COMPRESS, coarse=False, **options))
    return next(run_stage(stage, [record], Tally()))[0]


@pytest.mark.parametrize("most", range(1, 50))
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_the_budget_holds_on_the_final_context(most: int, threshold: float) -> None:
    out = compressed(TREATY, "Fishing treaty", max_tokens=most, fine_threshold=threshold)
    assert Words().count([out["context"]])[0] == out["compression"]["tokens_out"] <= most
    assert out["context"]


def test_a_first_sentence_over_the_budget_is_cut_at_a_word_and_says_so() -> None:
    first = TREATY.partition(" It was")[0]
    out = compressed(first, max_tokens=8, fine_threshold=0.0)
    (item,) = out["evidence"]
    assert item["text"] == first[: item["end"]] and first[item["end"]] == " "
    assert out["compression"]["truncated"] == len(first) - len(item["text"])
    assert out["compression"]["tokens_out"] == 8


def test_what_is_within_the_budget_is_not_touched() -> None:
    free, tight = (compressed(TREATY, fine_threshold=0.0, max_tokens=m) for m in (None, 99))
    assert free["context"] == tight["context"] == TREATY
    assert "truncated" not in tight["compression"]


def test_titles_go_before_text() -> None:
    title = "A title of very many words that eats all"
    out = compressed("It is short.", title, max_tokens=5, fine_threshold=0.0)
    assert out["context"] == "It is short."


def test_text_without_spaces_is_cut_between_characters() -> None:
    class Characters(Words):
        def count(self, texts: Any) -> list[int]:
            return [len(text) for text in texts]

    stage = compressor(replace(COMPRESS, coarse=False, max_tokens=4))
    stage.counter = Characters()  # type: ignore[assignment]
    record = {"id": "1", "question": "水", "contexts": [{"id": "d", "text": "水库位于山谷之中"}]}
    out = next(run_stage(stage, [record], Tally()))[0]
    assert out["context"] == "水库位于"


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_last_true_position_equals_a_plain_search(count: int, limit: int) -> None:
    plain = [position for position in range(count) if position < limit]
    assert _last_true(count, lambda position: position < limit) == (plain[-1] if plain else None)
