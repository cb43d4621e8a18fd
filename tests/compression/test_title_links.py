"""Sentences that name other passages, against a search character by character."""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.tasks import Passage
from grasp_cli.compression.title_links import _lower, features, links
from grasp_cli.text import segment


def passages(*rows: tuple[str, str]) -> list[Passage]:
    return [Passage(n, title, text, segment(text)) for n, (title, text) in enumerate(rows)]


def is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def named(text: str, start: int, title: str) -> bool:
    """Whether `title` stands at `start` as whole words."""
    end = start + len(title)
    return (
        text[start:end].lower() == title.lower()
        and not (start and is_word(text[start - 1]))
        and not (end < len(text) and is_word(text[end]))
    )


def naive(given: list[Passage]) -> list[list[set[int]]]:
    titles = [p.title.partition(" (")[0] for p in given]
    return [
        [
            {
                other
                for other, title in enumerate(titles)
                if title.lower() != titles[passage.number].lower()
                and len(title) >= 3
                and any(named(passage.text, place, title) for place in range(s.start, s.end))
            }
            for s in passage.sentences
        ]
        for passage in given
    ]


TITLES = ["Orl", "Tove dam", "tove DAM", "Or", "", "Tove dam (film)", "C++", "Ada Kerr", "Kerr"]
PIECES = ["Orl", "Tove dam", "Oral", "Tove", "dam", "C++", "Ada Kerr", "kerr", "Or", "the", "x."]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(TITLES),
            st.lists(st.sampled_from([*PIECES, "Ends. "]), max_size=9).map(" ".join),
        ),
        max_size=5,
    )
)
def test_equal_a_search_character_by_character(rows: list[tuple[str, str]]) -> None:
    given = passages(*rows)
    found = links(given)
    assert [[set(own) for own in sentences] for sentences in found] == naive(given)
    assert all(len(set(own)) == len(own) for sentences in found for own in sentences)


def test_case_and_qualifiers_do_not_count() -> None:
    given = passages(
        ("Mercury (planet)", "It orbits the sun."), ("Sun", "MERCURY is near. Venus is not.")
    )
    assert links(given) == [[[1]], [[0], []]]


def test_a_passage_does_not_name_itself_or_its_namesakes() -> None:
    given = passages(("Orl", "Orl is old."), ("orl", "Orl burst."), ("Tove", "It is in Orl."))
    assert links(given) == [[[]], [[]], [[0, 1]]]


def test_letters_that_grow_in_lower_case_move_nothing() -> None:
    given = passages(("Orl", "."), ("Kars", "İİİİİİİİ burst. Orl is old. It is gone."))
    assert links(given)[1] == [[], [0], []]
    assert links(passages(("İzmir", "."), ("Kars", "Not here. It is near izmir.")))[1] == [[], [0]]
    assert all(len(_lower(chr(code))) == 1 for code in range(sys.maxunicode + 1))


def test_scripts_without_spaces() -> None:
    given = passages(
        ("东京", "它在日本。"),
        ("Anna", "她住在东京塔旁边。她在Oslo工作。"),
        ("Oslo", "Oslos is none, and AnnaX is none."),
        ("京", "A single letter says nothing: 京."),
    )
    assert links(given) == [[[]], [[0], [2]], [[]], [[]]]


def test_a_title_at_the_edges_of_a_text() -> None:
    given = passages(("Orl", ""), ("Tove", "Orl"), ("Kars", "Near Orl"))
    assert links(given) == [[], [[0]], [[0]]]


@given(st.data())
def test_features_equal_a_search_over_all_pairs(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), max_size=4))
    others = [[n for n in range(len(counts)) if n != passage] for passage in range(len(counts))]
    outgoing = [
        [data.draw(st.sets(st.sampled_from(rest)) if rest else st.just(set())) for _ in range(size)]
        for size, rest in zip(counts, others, strict=True)
    ]
    score = st.floats(0, 1, exclude_min=True)
    scores = [np.asarray([data.draw(score) for _ in range(size)]) for size in counts]
    outward, inward = features([[sorted(own) for own in rows] for rows in outgoing], scores)
    for passage, rows in enumerate(outgoing):
        for place, owners in enumerate(rows):
            there = [value for owner in owners for value in scores[owner]]
            assert outward[passage][place] == max(there, default=0)
    for passage in range(len(counts)):
        pointing = [
            scores[other][place]
            for other, rows in enumerate(outgoing)
            for place, owners in enumerate(rows)
            if passage in owners
        ]
        assert inward[passage] == max(pointing, default=0)
