"""Time grows in step with the text, whatever it is made of: no quadratic scan, no backtracking.

CPU time of this process is compared for a text and one sixteen times as long. A quadratic step
makes it 256 times as long; a quarter of that is allowed, so that a noisy machine does not matter.
The collector is off meanwhile: how long it takes depends on what other tests have left behind.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from grasp_cli.text import segment, split_sentences

CHARACTERS = 10_000
FACTOR = 16
SLACK_SECONDS = 0.1

PARTS = [
    *(
        "a",
        ".",
        "(",
        "`",
        "[",
        " ",
        "\n-",
        "| ",
        "\n",
        "\r",
        "\t",
        "*",
        "#",
        "。",
        "！",
        "A.",
        "é.",
    ),
    *("a. ", "1. ", ". . ", '."', "“。", '."。', "《！", "!? ", "...\n", ".[1]", ". »", ". :)"),
    *(
        "[a](",
        "![a](b)",
        "[![a](b)",
        "](",
        "](<",
        "[a",
        "`` ` ",
        "` `` ``` ",
        "``a ",
        "://",
        "http://a ",
    ),
    *(
        "\n```\n",
        "\n```a\n",
        "\n    ```a\n",
        "- ```\n",
        "\n> ```\n",
        "\n1. a",
        "- a\n\n",
        "- a\n b\n",
    ),
    *(
        "a::\n\n",
        "a::\n\n b\n",
        ".. code::\n",
        "|-|\n",
        "|a|\n",
        "+--+\n",
        "== ==\n",
        "<table\n",
        "\n===",
    ),
    *("- - -\n", "# a\n", "\n > a", "    a\n", "\u0301", "。\u0301", "e.g. ", "Am 3. "),
]


def seconds(work: Callable[[str], Any], text: str) -> float:
    """The smaller CPU time of two runs."""
    taken = []
    gc.disable()
    try:
        for _ in range(2):
            started = time.process_time()
            work(text)
            taken.append(time.process_time() - started)
    finally:
        gc.enable()
    return min(taken)


@pytest.mark.parametrize("part", PARTS)
def test_time_grows_in_step(part: str) -> None:
    text = part * (CHARACTERS // len(part))
    for work in (segment, split_sentences):
        assert seconds(work, text * FACTOR) < 4 * FACTOR * seconds(work, text) + SLACK_SECONDS


@pytest.mark.parametrize("splitter", ["punkt", "nupunkt"])
@pytest.mark.parametrize("part", ["a", ".", " ", '."', "a. ", ". . ", "!? "])
def test_time_of_the_punkt_engines_grows_in_step(splitter: str, part: str) -> None:
    if splitter == "nupunkt":
        pytest.importorskip("nupunkt")
    text = part * (CHARACTERS // 2 // len(part))

    def work(text: str) -> None:
        split_sentences(text, splitter)

    assert seconds(work, text * FACTOR) < 4 * FACTOR * seconds(work, text) + SLACK_SECONDS


@pytest.mark.parametrize("part", ["a", ".", "(", "`", "[", " ", "\n-", "| "])
def test_a_million_characters_are_done_in_seconds(part: str) -> None:
    text = part * (1_000_000 // len(part))
    started = time.process_time()
    segment(text)
    assert time.process_time() - started < 10
