"""Passages: exact slices of whole sentences, few and even."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.retrieval.passages import balanced, cut
from grasp_cli.retrieval.tokens import count_words
from grasp_cli.text import segment

SENTENCE = st.integers(1, 9).map(lambda words: " ".join(["Word"] + ["word"] * (words - 1)) + ".")
TEXT = st.lists(SENTENCE, max_size=20).map("  \n".join)


def groupings(count: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to cut `count` elements into runs."""
    for mask in range(1 << max(0, count - 1)):
        cuts = [0, *(i + 1 for i in range(count - 1) if mask >> i & 1), count]
        yield list(pairwise(cuts))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 12))
def test_balanced_is_the_best_of_all_groupings(sizes: list[int], most: int) -> None:
    def cost(runs: list[tuple[int, int]]) -> tuple[int, int]:
        return len(runs), sum(sum(sizes[a:b]) ** 2 for a, b in runs)

    allowed = [
        runs
        for runs in groupings(len(sizes))
        if all(sum(sizes[a:b]) <= most or b - a == 1 for a, b in runs)
    ]
    assert balanced(sizes, most) in allowed
    assert cost(balanced(sizes, most)) == min(map(cost, allowed))


@given(TEXT, st.integers(1, 25))
def test_passages_are_slices_of_whole_sentences(text: str, most: int) -> None:
    passages = list(cut({"id": "d", "text": text}, most))
    if count_words(text) <= most:
        assert [(p.text, p.part) for p in passages] == [(text, None)]
        return
    segments = segment(text)
    assert [p.part for p in passages] == list(range(len(passages)))
    assert all(text[p.start : p.end] == p.text for p in passages)
    inside = [[s for s in segments if p.start <= s.start and s.end <= p.end] for p in passages]
    assert [s for group in inside for s in group] == segments
    for passage, group in zip(passages, inside, strict=True):
        assert len(group) == 1 or count_words(passage.text) <= most


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 14), st.integers(0, 3))
def test_overlapping_is_the_best_of_all_groupings(
    sizes: list[int], most: int, overlap: int
) -> None:
    def begun(first: int, last: int) -> int:
        early = max(0, first - overlap)
        while last - first == 1 and early < first and sum(sizes[early:last]) > most:
            early += 1
        return early

    def cost(runs: list[tuple[int, int]]) -> tuple[int, int]:
        return len(runs), sum(sum(sizes[a:b]) ** 2 for a, b in runs)

    early = [[(begun(a, b), b) for a, b in runs] for runs in groupings(len(sizes))]
    allowed = [
        made
        for runs, made in zip(groupings(len(sizes)), early, strict=True)
        if all(
            sum(sizes[e:b]) <= most or b - a == 1 for (a, b), (e, _) in zip(runs, made, strict=True)
        )
    ]
    found = balanced(sizes, most, overlap)
    assert found in allowed
    assert cost(found) == min(map(cost, allowed))


def test_overlap_repeats_whole_sentences() -> None:
    text = " ".join(f"Sentence number {i} has six words." for i in range(26))
    passages = list(cut({"id": "d", "text": text}, 60, 2))
    assert len(passages) > 2
    for before, after in pairwise(passages):
        shared = text[after.start : before.end]
        assert len(segment(shared)) == 2 and before.text.endswith(shared)
        assert count_words(after.text) <= 60
    assert passages[0].start == 0 and passages[-1].end == len(text)


def test_no_tiny_last_passage() -> None:
    text = " ".join(f"Sentence number {i} has six words." for i in range(26))
    sizes = [count_words(p.text) for p in cut({"id": "d", "text": text}, 150)]
    assert sizes == [78, 78]


def test_a_long_block_is_not_cut() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {i} | x |" for i in range(40))
    text = f"It starts.\n\n{table}\n\nIt ends."
    assert table in [p.text.strip() for p in cut({"id": "d", "text": text}, 20)]


def test_zero_never_cuts() -> None:
    text = "A sentence. " * 500
    assert [p.text for p in cut({"id": "d", "text": text}, 0)] == [text]


def test_text_without_spaces_is_cut() -> None:
    text = "水库位于山谷之中。" * 30
    sizes = [len(p.text) for p in cut({"id": "d", "text": text}, 100)]
    assert len(sizes) == 3 and set(sizes) == {90}
