"""The page: well-formed, nothing from the network, nothing from the data that acts as markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe.errors import DataError
from grasp_cli.report.explain_page import page
from grasp_cli.report.explain_terminal import for_terminal
from grasp_cli.report.explained import MEANINGS, explained

HOSTILE = [
    "<script>alert(1)</script>",
    "</p></section><img src=x onerror=alert(1)>",
    "&amp; & \" ' <b>",
    "جسر قديم.",
    "🍜\u0000\u001b[31m",
    "\u202eevil",
    "{meanings} %s \\n",
    "]]> -->",
]
VOID = {"meta", "input", "img", "br", "link"}
TEXT = "Ice froze. It broke.\n\nThen it melted."


class Page(HTMLParser):
    """Checks that tags balance, and collects them and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def classes(self, tag: str) -> list[set[str]]:
        return [set((attrs.get("class") or "").split()) for name, attrs in self.tags if name == tag]


def sentence(start: int, end: int, why: str, **more: Any) -> dict[str, Any]:
    kept = why in ("kept", "fallback")
    return {"start": start, "end": end, "kind": "sentence", **more, "kept": kept, "why": why}


def record(**more: Any) -> dict[str, Any]:
    sentences = [
        sentence(0, 10, "kept", coarse=0.9, survived=True, unit=0, score=0.8),
        sentence(11, 20, "threshold", coarse=0.5, survived=True, unit=1, score=0.2),
        sentence(22, 37, "coarse", coarse=0.1, survived=False),
    ]
    return {
        "id": "q1",
        "question": "What froze?",
        "contexts": [{"id": "a", "title": "Ice", "text": TEXT}],
        "evidence": [{"context": "a", "start": 0, "end": 10, "unit": 0, "score": 0.8}],
        "compression": {"tokens_in": 20, "tokens_out": 5, "removed": 0.75, "seconds": 0.5},
        "explain": [{"context": "a", "sentences": sentences}],
        **more,
    }


def html(*records: dict[str, Any]) -> str:
    return "\n".join(page(records))


@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4).map("".join))
def test_hostile_text_is_text_wherever_it_comes_from(text: str) -> None:
    hostile = record(
        id=text,
        question=text,
        answers=[text],
        answer=text,
        answer_full=text,
        contexts=[{"id": text, "title": text, "text": text}],
        evidence=[],
        explain=[{"context": text, "sentences": [sentence(0, len(text), text, kind=text, unit=0)]}],
        error={"stage": text, "message": text},
    )
    harmless, shown = Page(html(record())), Page(html(hostile, record()))
    assert {tag for tag, _ in shown.tags} <= {tag for tag, _ in harmless.tags} | {
        "nav",
        "ol",
        "li",
        "a",
    }
    plain = re.sub(r"[\x00-\x1f\u202e]", "", text)
    assert re.sub(r"[\u2400-\u241f\ufffd\n]", "", shown.text).count(plain) >= 8
    assert "\x00" not in html(hostile) and "\u202e" not in html(hostile)


def test_nothing_comes_from_the_network() -> None:
    whole = html(record(), record(id="q2"))
    shown = Page(whole)
    assert "default-src 'none'" in whole
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in shown.tags}
    for _, attributes in shown.tags:
        assert not {"src", "srcset", "onload", "onclick"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?:", whole)


def test_sentences_stand_shaded_with_unit_state_and_reason() -> None:
    shown = Page(html(record()).split("<main>")[1].split("</main>")[0])
    spans = [attrs for tag, attrs in shown.tags if tag == "span" and attrs.get("tabindex") == "0"]
    assert [(attrs["class"], attrs["style"]) for attrs in spans] == [
        ("s kept in", "--c:1.00"),
        ("s threshold", "--c:0.50"),
        ("s coarse", "--c:0.00"),
    ]
    assert [c for c in shown.classes("span") if "unit" in c] == [{"unit", "kept"}, {"unit"}]
    assert "kept · coarse 0.90 · unit u0 0.80" in shown.text
    assert "dropped: threshold · coarse 0.50 · unit u1 0.20" in shown.text
    assert "dropped: coarse · coarse 0.10" in shown.text
    assert "1 of 3 kept" in shown.text
    assert len(shown.classes("p")) == 3  # the id, and two paragraphs


def test_answers_costs_and_gold_are_there() -> None:
    shown = Page(
        html(
            record(
                answers=["ice"],
                evidence_gold=[{"id": "a", "start": 11, "end": 20}],
                answer="Ice",
                answer_full="I do not know",
                reader={"seconds": 1.25},
                reader_full={"seconds": 2.5},
                saved={"tokens": 15, "seconds": 1.25},
            )
        )
    ).text
    for text in ("20 → 5, 75.0% removed", "ice", "Ice", "I do not know", "15 tokens, 1.25 seconds"):
        assert text in shown
    assert "compress 0.50, reader 1.25, reader on everything 2.50" in shown
    assert "★It broke." in shown and "★Ice froze." not in shown
    assert "unit u1 0.20 · gold evidence" in shown


def test_gold_offsets_are_those_of_the_document() -> None:
    passage = {"id": "a", "doc_id": "d", "start": 100, "text": TEXT}
    given_gold = [{"id": "d", "start": 111, "end": 120}, {"id": "a", "start": 0, "end": 5}]
    (document,) = explained(record(contexts=[passage], evidence_gold=given_gold)).documents
    assert [piece.gold for piece in document.pieces] == [False, True, False]
    (document,) = explained(record(evidence_gold=[{"id": "a"}])).documents
    assert document.gold and not any(piece.gold for piece in document.pieces)


def test_several_records_have_an_index() -> None:
    shown = Page(html(record(), record(id="q2")))
    links = [attrs["href"] for tag, attrs in shown.tags if tag == "a"]
    ids = [attrs["id"] for tag, attrs in shown.tags if tag == "section"]
    assert links == ["#r0", "#r1"] and ids == ["r0", "r1"]


def test_without_explain_the_evidence_tells() -> None:
    bare = {key: value for key, value in record().items() if key != "explain"}
    (document,) = explained(bare).documents
    assert [(p.start, p.end, p.why) for p in document.pieces] == [
        (0, 10, "kept"),
        (11, 37, "dropped"),
    ]
    never = {key: bare[key] for key in ("id", "question", "contexts")}
    (document,) = explained(never).documents
    assert [(p.start, p.end, p.why, p.kept) for p in document.pieces] == [(0, 37, "whole", True)]
    assert Page(html(bare, never)).text.count("not in the context; the record") == 1
    assert Page(html({"id": "e", "question": "Why?", "error": {"stage": "answer"}}))


def test_a_sentence_kept_in_part_shows_which() -> None:
    part = [sentence(0, 10, "kept", part=[4, 10])]
    whole = html(record(explain=[{"context": "a", "sentences": part}]))
    assert '<span class="out">Ice </span>froze.' in whole
    line = for_terminal(record(explain=[{"context": "a", "sentences": part}]), 80, styled=False)
    assert "~  kept" in line


@pytest.mark.parametrize(
    "more",
    [
        {"explain": [{"context": "b", "sentences": []}]},
        {"explain": [{"context": "a", "sentences": [sentence(0, 99, "kept")]}]},
        {"explain": [{"context": "a", "sentences": [{"start": 0}]}]},
        {"explain": 3},
        {"evidence_gold": ["a"]},
    ],
)
def test_what_does_not_fit_is_bad_data(more: dict[str, Any]) -> None:
    with pytest.raises(DataError, match='record "q1": "explain", "evidence"'):
        html(record(**more))


@pytest.mark.parametrize("value", ["gzip", 3, [1], True, {"removed": "half", "tokens_in": None}])
@pytest.mark.parametrize("key", ["compression", "reader", "reader_full", "saved"])
def test_values_of_others_under_our_keys_say_nothing(key: str, value: Any) -> None:
    own = {"id": "q", "question": "Who?", "contexts": [{"id": "d", "text": "Ann."}], key: value}
    assert "Who?" in html(own)
    assert "Who?" in "".join(for_terminal(own, 80, styled=False))


def test_the_terminal_says_the_same_without_colour() -> None:
    plain = for_terminal(
        record(evidence_gold=[{"id": "a", "start": 0, "end": 3}]), 80, styled=False
    )
    assert "\x1b" not in plain
    assert re.search(r"^\+\* kept +0\.90 u0 0\.80 +Ice froze\.$", plain, re.MULTILINE)
    assert re.search(r"^-  threshold +0\.50 u1 0\.20 +It broke\.$", plain, re.MULTILINE)
    assert re.search(r"^-  coarse +0\.10 +Then it melted\.$", plain, re.MULTILINE)
    coloured = for_terminal(record(), 80, styled=True)
    assert "\x1b[2m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == for_terminal(record(), 80, styled=False)


@pytest.mark.parametrize("width", [30, 59, 60, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    from rich.cells import cell_len

    long = "水库位于山谷之中 " * 9 + "word " * 20
    only = sentence(0, len(long), "redundancy", coarse=0.5, unit=12, score=1.0)
    wide = record(
        contexts=[{"id": "a", "text": long}], explain=[{"context": "a", "sentences": [only]}]
    )
    lines = for_terminal(wide, width, styled=False).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "".join(lines).count("水库") == 9


def test_text_cannot_steer_the_terminal() -> None:
    evil = record(
        question="a\x1b[2Jb\x07\x9b", contexts=[{"id": "a", "text": "\x1b]0;x\x07" + TEXT}]
    )
    shown = for_terminal(evil, 80, styled=False)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


def test_every_state_has_a_meaning() -> None:
    assert {"kept", "fallback", "coarse", "threshold", "redundancy", "budget", "overlap"} <= set(
        MEANINGS
    )
