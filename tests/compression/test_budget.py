from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.adaptive import elbow
from grasp_cli.compression.blocks import Layout, compose
from grasp_cli.compression.budget import _last_true
from grasp_cli.compression.tasks import Evidence
from grasp_cli.defaults import COMPRESS
from grasp_cli.pipe.engine import Tally, run_stage
from tests.compression.fakes import Words, compressor, number

QUESTION = "What does the treaty say?"
TREATY = (
    "The treaty, signed after eleven years of talks between the four coastal states and ratified "
    "by all of them before the end of the decade, says that fishing is banned north of the line. "
    "It was amended twice."
)


def compressed(text: str, title: str = "", **options: Any) -> Any:
    record = {
        "id": "1",
        "question": QUESTION,
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

    stage = compressor(replace(COMPRESS, coarse=False, max_tokens=4), Characters())
    record = {"id": "1", "question": "水", "contexts": [{"id": "d", "text": "水库位于山谷之中"}]}
    out = next(run_stage(stage, [record], Tally()))[0]
    assert out["context"] == "水库位于"


TWO = [
    {"id": "a", "title": "Reef light", "text": TREATY},
    {"id": "b", "title": "Salt tax", "text": "Salt was taxed. The tax fell in 1811. Few wept."},
]


def written(contexts: list[Any], **options: Any) -> Any:
    record = {"id": "1", "question": QUESTION, "contexts": contexts}
    options = {"coarse": False, "fine_threshold": 0.0, **options}
    return next(run_stage(compressor(replace(COMPRESS, **options)), [record], Tally()))[0]


@pytest.mark.parametrize("most", range(1, 60))
@pytest.mark.parametrize("markers", [True, False])
def test_each_document_keeps_to_its_own_budget(most: int, markers: bool) -> None:
    out = written(TWO, max_tokens_per_doc=most, markers=markers)
    blocks = out["context"].split("\n\n")
    assert len(blocks) == 2, "no document is lost for the other's length"
    assert all(0 < count <= most for count in Words().count(blocks))


def test_a_title_stands_as_long_as_every_document_has_room_for_it() -> None:
    assert "Salt tax\n" in written(TWO, max_tokens_per_doc=20)["context"]
    assert "Salt tax" not in written(TWO, max_tokens_per_doc=3)["context"]


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_top_k_spans_are_the_best_units(most: int) -> None:
    everything = written(TWO, similarity_threshold=1.0, explain=True)
    scores = {e["unit"]: e["score"] for e in everything["evidence"]}
    best = sorted(scores, key=lambda unit: (-scores[unit], unit))[:most]
    out = written(TWO, similarity_threshold=1.0, top_k_spans=most)
    assert sorted({e["unit"] for e in out["evidence"]}) == sorted(best)


def test_markers_and_gaps_are_written_and_counted() -> None:
    contexts = [
        {"id": "p1", "doc_id": "d [1]", "start": 0, "title": "Salt", "text": "One was here. Two."},
        {"id": "p2", "doc_id": "d [1]", "start": 40, "text": "Three were there."},
    ]
    plain, marked = written(contexts), written(contexts, markers=True)
    assert marked["context"] == "[d [1]]\n" + plain["context"]
    extra = Words().count(["[d [1]]"])[0]
    for key in ("tokens_in", "tokens_out"):
        assert marked["compression"][key] == plain["compression"][key] + extra


def test_a_gap_is_written_where_text_was_left_out() -> None:
    sentences = [f"Ship {i} carried salt." for i in range(3)]
    middle = min(sentences, key=lambda text: number(QUESTION + text))
    first, last = (text for text in sentences if text != middle)
    contexts = [{"id": "d", "text": f"{first} {middle} {last}"}]
    out = written(contexts, gap=" … ", top_k_spans=2, similarity_threshold=1.0)
    assert out["context"] == f"{first} … {last}"
    assert written(contexts, gap=" … ")["context"] == contexts[0]["text"]


def test_a_gap_that_outweighs_what_it_stands_for_is_not_written() -> None:
    text = "Nobody wrote the ledger. I. Everybody read the ledger."
    out = written([{"id": "d", "text": text}], gap=" (text left out) ", top_k_spans=2,
                  similarity_threshold=1.0)  # fmt: skip
    assert len(out["evidence"]) == 2
    assert len(out["context"]) <= len(text) and "left out" not in out["context"]


@pytest.mark.parametrize(("start", "mark"), [(5, " "), (6, " "), (7, " … ")])
def test_passages_that_touch_have_no_gap_between_them(start: int, mark: str) -> None:
    contexts = [
        {"id": "p1", "doc_id": "d", "start": 0, "text": "Here."},
        {"id": "p2", "doc_id": "d", "start": start, "text": "There was more to say than that."},
    ]
    kept = [Evidence(0, 0, 5, None, 0, 0, False), Evidence(1, 0, 32, None, 1, 0, False)]
    assert compose(contexts, kept, Layout(gap=" … ")) == f"Here.{mark}{contexts[1]['text']}"


def naive_elbow(scores: list[float], sizes: list[int], least: int, gap: float) -> int:
    if len(scores) < 3 or max(scores) == min(scores):
        return len(scores)
    scaled = [(s - min(scores)) / (max(scores) - min(scores)) for s in scores]
    stops = [
        i + 1
        for i in range(len(scores) - 1)
        if sum(sizes[: i + 1]) >= least and round(scaled[i] - scaled[i + 1], 4) > gap
    ]
    return [*stops, len(scores)][0]


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), st.integers(0, 90))),
    st.sampled_from([0, 64, 200]),
    st.sampled_from([0.1, 0.25, 0.6]),
)
def test_the_elbow_equals_its_definition(rows: list[Any], least: int, gap: float) -> None:
    scores = sorted((score for score, _ in rows), reverse=True)
    sizes = [size for _, size in rows]
    found = elbow(scores, lambda n: sum(sizes[:n]), min_tokens=least, gap=gap)
    assert found == naive_elbow(scores, sizes, least, gap)


def test_the_adaptive_budget_stops_at_the_gap_but_never_between_two() -> None:
    assert elbow([0.9, 0.88, 0.3, 0.2], lambda n: 50 * n, min_tokens=64, gap=0.25) == 2
    assert elbow([0.9, 0.88, 0.3, 0.2], lambda n: 10 * n, min_tokens=64, gap=0.25) == 4
    assert elbow([0.9, 0.1], lambda n: 500, min_tokens=64, gap=0.25) == 2


def test_the_adaptive_budget_stands_in_for_the_threshold() -> None:
    sentences = [f"Ledger {i} lists the salt of {i + 3} ships." for i in range(12)]
    contexts = [{"id": "d", "text": " ".join(sentences)}]
    options = {"similarity_threshold": 1.0, "budget": "adaptive"}
    low, high = (written(contexts, fine_threshold=t, **options) for t in (0.0, 1.0))
    assert low["context"] == high["context"]
    said = high["compression"]
    assert said["budget"] == "adaptive" and "fallback" not in said and "borderline" not in said
    assert said["tokens_out"] >= COMPRESS.min_tokens
    small = written(contexts, max_tokens=20, **options)
    assert 0 < small["compression"]["tokens_out"] <= 20
    wide = written([{"id": "d", "text": " ".join(sentences * 20)}], min_tokens=5000, **options)
    assert 900 < wide["compression"]["tokens_out"] <= COMPRESS.adaptive_max_tokens


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_last_true_position_equals_a_plain_search(count: int, limit: int) -> None:
    plain = [position for position in range(count) if position < limit]
    assert _last_true(count, lambda position: position < limit) == (plain[-1] if plain else None)
