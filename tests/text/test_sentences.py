"""`split_sentences` under every splitter: what no splitter may get wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grasp_cli.pipe.errors import MissingError, UsageError
from grasp_cli.text import SPLITTERS, split_sentences
from grasp_cli.text.punkt import _nltk_spans, _nupunkt_spans

AVAILABLE = [
    pytest.param(name, marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="needs 3.11"))
    if name == "nupunkt"
    else name
    for name in SPLITTERS
]
every_splitter = pytest.mark.parametrize("splitter", AVAILABLE)


def pieces(text: str, splitter: str = "rule") -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, splitter)]


@every_splitter
def test_chinese(splitter: str) -> None:
    text = "水库位于山谷之中。它于1958年建成。附近有一座古庙！游客很多吗？"
    assert pieces(text, splitter) == [
        "水库位于山谷之中。",
        "它于1958年建成。",
        "附近有一座古庙！",
        "游客很多吗？",
    ]


@every_splitter
def test_abbreviations(splitter: str) -> None:
    text = (
        "Dr. J. R. Hale of the U.S. Geological Survey led it. "
        "See No. 4, e.g. the map on p. 12. It ended in May."
    )
    assert pieces(text, splitter) == [
        "Dr. J. R. Hale of the U.S. Geological Survey led it.",
        "See No. 4, e.g. the map on p. 12.",
        "It ended in May.",
    ]


@every_splitter
def test_links_and_images(splitter: str) -> None:
    text = (
        "See [the diagram](http://example.org/fig_1.v2.png). It rained. "
        "Then ![photo. Of the gate](a.b/c.d.jpg) shows it."
    )
    assert pieces(text, splitter) == [
        "See [the diagram](http://example.org/fig_1.v2.png).",
        "It rained.",
        "Then ![photo. Of the gate](a.b/c.d.jpg) shows it.",
    ]


@every_splitter
def test_crlf_tab_and_emoji_keep_their_offsets(splitter: str) -> None:
    text = (
        "Opening hours:\tnine to five.\r\nThe menu has soup 🍜 and bread.\r\nDogs are welcome.\r\n"
    )
    assert split_sentences(text, splitter) == [(0, 28), (30, 60), (62, 79)]
    assert text[30:60] == "The menu has soup 🍜 and bread."


@every_splitter
@pytest.mark.parametrize("text", ["", " ", "\r\n\t \u00a0\u3000\n\n"])
def test_nothing_from_nothing(splitter: str, text: str) -> None:
    assert split_sentences(text, splitter) == []


@every_splitter
def test_a_blank_line_parts_and_a_line_break_does_not(splitter: str) -> None:
    assert pieces("one\ntwo\n \nthree\r\n\r\nfour\r\nfive", splitter) == [
        "one\ntwo",
        "three",
        "four\r\nfive",
    ]


@every_splitter
def test_code_links_and_addresses_stay_whole(splitter: str) -> None:
    text = (
        'Use `a. B? C!` here. Read [Dr. No. The film](http://x/y_(z).html "A. Title") first. '
        "Open https://x.y/z?q=a.b!c now."
    )
    assert pieces(text, splitter) == [
        "Use `a. B? C!` here.",
        'Read [Dr. No. The film](http://x/y_(z).html "A. Title") first.',
        "Open https://x.y/z?q=a.b!c now.",
    ]


@every_splitter
def test_backticks_as_quotation_marks_hold_no_code(splitter: str) -> None:
    assert pieces("Then ``One. Two'' came ``Three. Four'' in.", splitter) == [
        "Then ``One.",
        "Two'' came ``Three.",
        "Four'' in.",
    ]
    assert pieces("He `said. She `did. We did.", splitter) == ["He `said.", "She `did.", "We did."]


@every_splitter
def test_a_backtick_does_not_reach_over_a_blank_line(splitter: str) -> None:
    assert pieces("A ` stands. Here it ends.\n\nAnd ` again. It ends.", splitter) == [
        "A ` stands.",
        "Here it ends.",
        "And ` again.",
        "It ends.",
    ]


@every_splitter
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他说：“你好。”她走了。", ["他说：“你好。”", "她走了。"]),
        ("完了。（真的！）走吧。", ["完了。", "（真的！）", "走吧。"]),
        ("「行く。」と言う。「はい。」次。", ["「行く。」と言う。", "「はい。」", "次。"]),
        ("《你好！李焕英》很好看。真的？！是。", ["《你好！李焕英》很好看。", "真的？！", "是。"]),
        ("ｶﾅ｡次です．つぎ", ["ｶﾅ｡", "次です．", "つぎ"]),
        ("価格は３．５円です。次", ["価格は３．５円です。", "次"]),
        ("本当?そう!はい。", ["本当?", "そう!", "はい。"]),
        ("見て https://x.y/検索?語 を。次", ["見て https://x.y/検索?語 を。", "次"]),
        ('他说"你好。"她走了。"再见。"', ['他说"你好。"', "她走了。", '"再见。"']),
        ("这是。[1][2]那是。[12]", ["这是。[1][2]", "那是。[12]"]),
        ('完了。"好。"走吧。', ["完了。", '"好。"', "走吧。"]),
        ('"一。二。"三。', ['"一。', '二。"', "三。"]),
        ("यह है। वह था।ठीक", ["यह है।", "वह था।", "ठीक"]),
        ("هل هذا؟ نعم۔ لا", ["هل هذا؟", "نعم۔", "لا"]),
        ("ሰላም። ደህና።እሺ", ["ሰላም።", "ደህና።", "እሺ"]),
        ("문장입니다. 다음입니다! 끝.", ["문장입니다.", "다음입니다!", "끝."]),
    ],
)
def test_other_scripts(splitter: str, text: str, expected: list[str]) -> None:
    assert pieces(text, splitter) == expected


@every_splitter
def test_a_mark_stays_with_its_character(splitter: str) -> None:
    assert pieces("か。\u3099き。く", splitter) == ["か。\u3099", "き。", "く"]
    assert pieces("Stop. \u0301And go.", splitter) == ["Stop. \u0301And go."]


def test_unknown_splitter() -> None:
    with pytest.raises(UsageError, match="there is no splitter 'spacy': choose rule"):
        split_sentences("One. Two.", "spacy")


def test_nupunkt_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nupunkt", None)
    _nupunkt_spans.cache_clear()
    with pytest.raises(MissingError, match="pip install nupunkt"):
        split_sentences("One. Two.", "nupunkt")


@pytest.mark.parametrize("splitter", ["punkt", "nupunkt"])
def test_a_long_paragraph_is_split_alike_in_pieces(
    splitter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if splitter == "nupunkt":
        pytest.importorskip("nupunkt")
    text = "Mr. Hale went to the U.S. Survey in May. It was 3.5 miles away! Was it? " * 40
    whole = split_sentences(text, splitter)
    monkeypatch.setattr("grasp_cli.text.punkt._LONGEST", 500)
    assert split_sentences(text, splitter) == whole
    assert len(whole) == 120


def test_punkt_reads_no_nltk_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk.data

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nltk data was asked for")

    monkeypatch.setattr(nltk.data, "find", refuse)
    monkeypatch.setattr(nltk.data, "load", refuse)
    _nltk_spans.cache_clear()
    assert pieces("Mr. Hale went. He came.", "punkt") == ["Mr. Hale went.", "He came."]


def test_the_default_loads_nothing_heavy() -> None:
    code = (
        "import sys; from grasp_cli.text import segment; segment('One. Two.');"
        "print(sorted({'nltk', 'nupunkt', 'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@every_splitter
def test_no_splitter_touches_the_network(splitter: str) -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from grasp_cli.text import split_sentences\n"
        f"print(split_sentences('One. Two.', {splitter!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[(0, 4), (5, 9)]", done.stderr
