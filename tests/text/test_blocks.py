"""`segment`: what is atomic, and where it ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.text import segment
from grasp_cli.text.fences import fence_end
from grasp_cli.text.lines import scan_lines


def pieces(text: str) -> list[tuple[str, str]]:
    return [(found.kind, text[found.start : found.end]) for found in segment(text)]


def test_code_fence_and_table() -> None:
    text = (
        "Set the port as follows.\n\n```yaml\nserver:\n  port: 8080. # not the end\n```\n\n"
        "| key | value |\n|---|---|\n| port | 8080 |\n\nRestart it."
    )
    assert pieces(text) == [
        ("sentence", "Set the port as follows."),
        ("code", "```yaml\nserver:\n  port: 8080. # not the end\n```"),
        ("table", "| key | value |\n|---|---|\n| port | 8080 |"),
        ("sentence", "Restart it."),
    ]


def test_everything_with_crlf() -> None:
    text = "# Title\r\n\r\nOne. Two.\r\n- a\r\n- b\r\n~~~\r\nx. Y\r\n~~~\r\n\r\nEnd."
    assert pieces(text) == [
        ("heading", "# Title"),
        ("sentence", "One."),
        ("sentence", "Two."),
        ("list", "- a"),
        ("list", "- b"),
        ("code", "~~~\r\nx. Y\r\n~~~"),
        ("sentence", "End."),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A.\n```\nb. C\n```\nD.", "```\nb. C\n```"),
        ("A.\n~~~ py\nb. C\n```\n~~~~\nD.", "~~~ py\nb. C\n```\n~~~~"),
        ("A.\n````\n```\nb. C\n````\nD.", "````\n```\nb. C\n````"),
        ("A.\n   ```\n   b. C\n   ```\nD.", "```\n   b. C\n   ```"),
        ("A.\n```\nb. C\n\n# d", "```\nb. C\n\n# d"),
        ("A.\n```\nb\n    ```\nc\n```\nD.", "```\nb\n    ```\nc\n```"),
        ("A.\n> ```\n> b. C\n> ```\nD.", "> ```\n> b. C\n> ```"),
        ("A.\n> ```\n> b. C\nD.", "> ```\n> b. C"),
        ("A.\n\n        ```\n        b. C\n        ```\nD.", "```\n        b. C\n        ```"),
        ("A.\n\n    ```\n    b. C\nD.", "```\n    b. C"),
        ("A::\n\n    b. C\n\n    d\nD.", "b. C\n\n    d"),
        ("A.\n\n.. code-block:: py\n\n   b. C\n\nD.", ".. code-block:: py\n\n   b. C"),
    ],
)
def test_code(text: str, code: str) -> None:
    found = pieces(text)
    assert [piece for kind, piece in found if kind == "code"] == [code]
    assert found[0][0] == "sentence"
    assert (found[-1] == ("sentence", "D.")) == text.endswith("\nD.")


@pytest.mark.parametrize(
    "text", ["```inline``` stays. It does.", "Not ``` here. No.", "C++ std::\nx"]
)
def test_no_code(text: str) -> None:
    assert {kind for kind, _ in pieces(text)} == {"sentence"}


@pytest.mark.parametrize(
    "table",
    [
        "a | b. C\n--- | ---\n1 | 2. D",
        "| a |\n|:-:|",
        "| Dr. A. B | c |\n| d. E | f |",
        "+---+---+\n| a | b |\n+===+===+\n| c. D | d |\n+---+---+",
        "=====  =====\nA. B   C\n=====  =====\n1      2. D\n=====  =====",
        "<table>\n<tr><td>a. B</td></tr>\n</table>",
    ],
)
def test_tables(table: str) -> None:
    assert pieces(f"Before.\n\n{table}\n\nAfter. End.") == [
        ("sentence", "Before."),
        ("table", table),
        ("sentence", "After."),
        ("sentence", "End."),
    ]


def test_a_table_ends_where_the_bars_end() -> None:
    assert pieces("| a |\n|---|\n| b |\nOne. Two.") == [
        ("table", "| a |\n|---|\n| b |"),
        ("sentence", "One."),
        ("sentence", "Two."),
    ]


def test_a_bar_alone_is_no_table() -> None:
    assert {kind for kind, _ in pieces("Use a | b here.\nThen c | d. End.")} == {"sentence"}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- a. B\n- c", ["- a. B", "- c"]),
        ("Buy:\n* a\n+ b\n• c\n1. d", ["* a", "+ b", "• c", "1. d"]),
        ("1. a\n2) b\n\na) c\n(iv) d\n(b) e", ["1. a", "2) b", "a) c", "(iv) d", "(b) e"]),
        ("- a\n  b. C\nlazy\n- d", ["- a\n  b. C\nlazy", "- d"]),
        ("- a\n\n  b. C\n\nOut.", ["- a\n\n  b. C"]),
        ("- a\n  - b\n    - c\n- d", ["- a", "- b", "- c", "- d"]),
        (
            "1. a\n   ```\n   b. C\n   ```\n   d\n2. e",
            ["1. a\n   ```\n   b. C\n   ```\n   d", "2. e"],
        ),
        ("- ```\n  a. B\n  ```\n- c", ["- ```\n  a. B\n  ```", "- c"]),
        ("- a\n# B\n- c\n---\n- d\n```\ne\n```", ["- a", "- c", "- d"]),
        ("- a\n\n\tb. C\n\nOut.", ["- a\n\n\tb. C"]),
        ("1、一。二\n2、三", ["1、一。二", "2、三"]),
    ],
)
def test_list_items(text: str, items: list[str]) -> None:
    assert [piece for kind, piece in pieces(text) if kind == "list"] == items


@pytest.mark.parametrize(
    "text",
    [
        "1. FC Köln ist ein Verein. Er spielt.",
        "J. R. Hale came. He left.",
        "Am\n3. Mai kam er. Dann ging er.",
        "3. Mai 1999 war es.\n\nDann ging er.",
        "It was the year\n14. The end came.",
        "-5 is cold. * is a star.",
        "2010. A year.\nIt went.",
    ],
)
def test_no_list(text: str) -> None:
    assert {kind for kind, _ in pieces(text)} == {"sentence"}


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A. B\nC.\n## D ##\n###\n", ["# A. B", "## D ##", "###"]),
        ("##标题\n文。", ["##标题"]),
        ("A. B\n===\n\nC\n---\nD.", ["A. B\n===", "C\n---"]),
        ("=====\nTitle\n=====\n\nText\n~~~~\n\nX", ["=====\nTitle\n=====", "Text\n~~~~"]),
        ("#tag and #more. Text.", []),
        ("Two lines\nof text.\n---\nMore.", []),
        ("Wait.\n***\nMore.", []),
    ],
)
def test_headings(text: str, headings: list[str]) -> None:
    assert [piece for kind, piece in pieces(text) if kind == "heading"] == headings


def naive_fences(lines: list[str]) -> list[tuple[int, int]]:
    """CommonMark 4.5 read off directly, for lines without lists or quotes."""
    fences = []
    opened = mark = None
    for number, line in enumerate(lines):
        stripped = line.lstrip(" ")
        run = len(stripped) - len(stripped.lstrip(stripped[:1]))
        is_fence = len(line) - len(stripped) <= 3 and stripped[:1] in ("`", "~") and run >= 3
        rest = stripped[run:]
        if opened is None:
            if is_fence and not (stripped[0] == "`" and "`" in rest):
                opened, mark = number, stripped[:run]
        elif is_fence and stripped[0] == mark[0] and run >= len(mark) and not rest.strip():
            fences.append((opened, number + 1))
            opened = None
    return fences if opened is None else [*fences, (opened, len(lines))]


FENCES = ["```", "````", "~~~", "~~~~", "``` py", "~~~ a`b", "``` a`b", "  ```", "   ~~~ ", "``"]
fence_lines = st.lists(
    st.sampled_from([*FENCES, "", "a. B", "  a", "    c", "```x```"]), max_size=14
)


@given(fence_lines)
@settings(max_examples=300, deadline=None)
def test_fences_agree_with_the_naive_reading(lines: list[str]) -> None:
    scanned = scan_lines("\n".join(lines))
    found, index = [], 0
    while index < len(scanned):
        end = fence_end(scanned, index)
        if end is not None:
            found.append((index, end))
        index = end or index + 1
    kept = "\n".join(lines).split("\n") if lines else []
    assert found == naive_fences(kept[: len(scanned)])
