"""Segments and sentences tile every text: generated ones, and real messy documents."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.text import SPLITTERS, segment, split_sentences
from grasp_cli.text.protected import protected_regions
from grasp_cli.text.spans import joins_previous
from tests.conftest import SHARED, shared

AWKWARD = [
    *(
        "a",
        "B",
        "Dr.",
        "U.S.",
        "e.g.",
        "3.5",
        "1.",
        "3. Mai",
        "z. B.",
        "...",
        "?!",
        ". ",
        "! ",
        ".",
    ),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\n \n",
        "\f",
        "\u2029",
        "\u00a0",
        "\u3000",
        "\x0b",
    ),
    *(
        "。",
        "！",
        "？",
        "．",
        "｡",
        "」",
        "』",
        "”",
        "）",
        "「",
        "《",
        "》",
        "漢字",
        "かな",
        "と",
        "।",
        "؟",
        "።",
    ),
    *(
        '"',
        "'",
        "`",
        "``",
        "```",
        "~~~",
        "(",
        ")",
        "[",
        "]",
        "](",
        "[a. B](http://x/y. z)",
        "**",
        "_",
    ),
    *(
        "![p. Q](a.b/c.d.jpg)",
        "`x. Y`",
        "http://a.b/c?d=e.f ",
        "\n```\n",
        "\n~~~ py\n",
        "\n    ```\n",
    ),
    *(
        "\n- ",
        "\n* x",
        "\n1. ",
        "\n2) ",
        "\n  - ",
        "\n# T",
        "\n===\n",
        "\n---\n",
        "| a | b |\n",
        "|---|\n",
    ),
    *(
        "+--+\n",
        "== ==\n",
        "<table>\n",
        "</table>\n",
        "> ",
        "::\n\n",
        "\n    code. X\n",
        ".. code:: x\n",
    ),
    *(
        "🍜",
        "👩\u200d🚀",
        "❤\ufe0f",
        "e\u0301",
        "\u0301",
        "か\u3099",
        "\x00",
        "\ufeff",
        "\u200b",
        ":-)",
    ),
]
texts = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=4), max_size=30).map("".join)
NEWLINES = "\n\r\f\u2029"


def assert_tiles(text: str, spans: list[tuple[int, int]]) -> None:
    """In order, disjoint, tight, and nothing but white space between them."""
    position = 0
    for start, end in spans:
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


def assert_marks_stay(text: str, spans: list[tuple[int, int]]) -> None:
    """No span begins with a combining mark, but after a line break, where none is avoidable."""
    for (_, before), (start, _) in pairwise(spans):
        if not set(text[before:start]) & set(NEWLINES):
            assert not joins_previous(text[start])


@given(texts, st.sampled_from(["rule", "punkt"]))
@settings(max_examples=600, deadline=None)
def test_sentences_tile(text: str, splitter: str) -> None:
    spans = split_sentences(text, splitter)
    assert_tiles(text, spans)
    assert_marks_stay(text, spans)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="nupunkt needs Python 3.11")
@given(texts)
@settings(max_examples=200, deadline=None)
def test_sentences_of_nupunkt_tile(text: str) -> None:
    spans = split_sentences(text, "nupunkt")
    assert_tiles(text, spans)
    assert_marks_stay(text, spans)


@given(texts)
@settings(max_examples=600, deadline=None)
def test_segments_tile(text: str) -> None:
    found = segment(text)
    assert_tiles(text, [(start, end) for start, end, _ in found])
    assert {kind for _, _, kind in found} <= {"sentence", "heading", "code", "table", "list"}


@given(st.lists(st.sampled_from([*AWKWARD, "` ", "a ``"]), max_size=20).map("".join))
@settings(max_examples=300, deadline=None)
def test_no_cut_inside_a_protected_region(text: str) -> None:
    """In a text of one paragraph; a blank line ends a region as it ends a sentence."""
    text = " ".join(text.split())
    regions = protected_regions(text, 0, len(text))
    for _, cut in split_sentences(text):
        assert not any(start < cut < end for start, end in regions)


@given(st.text(alphabet="漢か。！？a ", max_size=40))
@settings(max_examples=300, deadline=None)
def test_ideographic_stops_agree_with_the_naive_reading(text: str) -> None:
    """Without quotes and brackets: each run of 。！？ ends a sentence, nothing else does."""
    expected, current = [], ""
    for character, following in pairwise(text + "\0"):
        current += character
        if character in "。！？" and following not in "。！？":
            expected.append(current)
            current = ""
    stripped = [piece.strip() for piece in [*expected, current] if piece.strip()]
    assert [text[start:end] for start, end in split_sentences(text)] == stripped


@given(st.lists(st.sampled_from(["`", "``", "```", "a", " b. C "]), max_size=16).map("".join))
@settings(max_examples=300, deadline=None)
def test_inline_code_agrees_with_the_naive_reading(text: str) -> None:
    """Each run of backticks pairs with the next run of its length, as CommonMark says.

    The naive reading leaves out the exception for quotation marks, so such texts are passed over.
    """
    expected, position = [], 0
    while (start := text.find("`", position)) >= 0:
        length = len(text[start:]) - len(text[start:].lstrip("`"))
        position = start + length
        probe = position
        while (other := text.find("`", probe)) >= 0:
            run = len(text[other:]) - len(text[other:].lstrip("`"))
            probe = other + run
            if run == length:
                inner = text[position:other]
                if inner[:1].isspace() or not inner[-1:].isspace():
                    expected.append((start, probe))
                    position = probe
                break
    assert protected_regions(text, 0, len(text)) == expected


MESSY = sorted((SHARED / "data/messy_docs").glob("*.*"))


@pytest.mark.parametrize("name", [path.name for path in MESSY] or ["system-design-primer.en.md"])
def test_messy_documents(name: str) -> None:
    with shared(f"data/messy_docs/{name}").open(encoding="utf-8", newline="") as file:
        text = file.read()
    found = segment(text)
    assert_tiles(text, [(start, end) for start, end, _ in found])
    for splitter in SPLITTERS if sys.version_info >= (3, 11) else ("rule", "punkt"):
        assert_tiles(text, split_sentences(text, splitter))
    spans = [(start, end) for start, end, kind in found if kind in ("code", "list")]
    for first, last in fences_of(text):
        assert any(start <= first and last <= end for start, end in spans), text[first:last]


def fences_of(text: str) -> list[tuple[int, int]]:
    """Fences by the bare eye: a line that begins with ``` to the next line that is just that."""
    found, opened, position = [], -1, 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if opened < 0 and bare.startswith("```") and "`" not in bare[3:]:
            opened = position + line.index("`")
        elif opened >= 0 and bare == "```":
            found.append((opened, position + line.index("`") + 3))
            opened = -1
        position += len(line)
    return found
