"""The sample data keeps its promises: counts, kinds of documents, gold that slices exactly."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.text import segment

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data"
LONG = "ferry-centenary"
UNTITLED = "diary-1931"
TYPES = {"single", "two-hop", "comparison", "yes-no", "unanswerable"}

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LIST_ITEM = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)
_TABLE_RULE = re.compile(r"^\|(?:-+\|)+\r?$", re.MULTILINE)
_ABBREVIATION = re.compile(r"\b(?:Dr|Prof|Mr|St|No|Nr|Cllr|approx|[A-Z])\.(?= )|\d\.(?=\d)")
_SENTENCE_END = re.compile(r"""[.!?]["”»)]*(?=\s|$)|[。！？](?!」)""")


def _read(name: str) -> list[dict[str, Any]]:
    with (SAMPLE / name).open(encoding="utf-8", newline="\n") as stream:
        return [json.loads(line) for line in stream]


DOCUMENTS = _read("documents.jsonl")
QUESTIONS = _read("questions.jsonl")
TEXTS = {document["id"]: document["text"] for document in DOCUMENTS}
GOLD = [(question["id"], gold) for question in QUESTIONS for gold in question["evidence_gold"]]


def _matching(pattern: re.Pattern[str]) -> list[str]:
    return [name for name, text in TEXTS.items() if pattern.search(text)]


def _sentences(text: str) -> int:
    """Full stops and the like outside code, tables and headings; a list item counts as one."""
    count = 0
    for line in _FENCE.sub("", text).splitlines():
        if _LIST_ITEM.match(line):
            count += 1
        elif not line.startswith(("|", "#")):
            count += len(_SENTENCE_END.findall(_ABBREVIATION.sub("", line)))
    return count


def _gold_documents(question: dict[str, Any]) -> set[str]:
    return {gold["id"] for gold in question["evidence_gold"]}


def test_there_are_enough_documents_and_questions() -> None:
    assert len(DOCUMENTS) >= 44
    assert len(QUESTIONS) == 28


@pytest.mark.parametrize("records", [DOCUMENTS, QUESTIONS], ids=["documents", "questions"])
def test_ids_are_unique(records: list[dict[str, Any]]) -> None:
    assert max(Counter(record["id"] for record in records).values()) == 1


def test_keys_stand_in_their_order() -> None:
    for document in DOCUMENTS:
        named = ["id", "text"] if document["id"] == UNTITLED else ["id", "title", "text"]
        assert list(document) == named
    for question in QUESTIONS:
        assert list(question) == ["id", "question", "answers", "evidence_gold", "type"]


def test_files_are_written_plainly() -> None:
    for name, records in (("documents.jsonl", DOCUMENTS), ("questions.jsonl", QUESTIONS)):
        expected = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        assert (SAMPLE / name).read_bytes() == expected.encode()


@pytest.mark.parametrize("name", [name for name in TEXTS if name != LONG])
def test_a_document_has_5_to_15_sentences(name: str) -> None:
    assert 5 <= _sentences(TEXTS[name]) <= 15


def test_one_document_is_long_enough_to_be_cut() -> None:
    assert _sentences(TEXTS[LONG]) >= 30
    assert len(TEXTS[LONG].split()) > 450


def test_some_documents_reach_the_upper_bound() -> None:
    assert any(14 <= _sentences(text) <= 15 for text in TEXTS.values())


def test_code_tables_and_lists_occur() -> None:
    assert len(_matching(_FENCE)) >= 4
    assert len(_matching(_TABLE_RULE)) >= 3
    assert len(_matching(_LIST_ITEM)) >= 4


def test_other_languages_line_ends_and_emoji_occur() -> None:
    assert "wurde" in TEXTS["hasenkamp-linse"] and "ß" in TEXTS["hasenkamp-linse"]
    assert re.search("[ぁ-ん]", TEXTS["shiomihama"])
    assert _matching(re.compile("\r\n")) == ["open-day-mail"]
    assert not re.search(r"(?<!\r)\n", TEXTS["open-day-mail"])
    assert _matching(re.compile("[\U0001f300-\U0001faff]")) == ["open-day-mail"]


def test_abbreviations_decimals_addresses_and_quotes_occur() -> None:
    everything = "\n".join(TEXTS.values())
    for wanted in ("Dr. ", "Prof. ", "No. ", "approx. ", "https://", '"', "“", "»", "1.94", "2,9"):
        assert wanted in everything


def test_texts_are_different_and_trimmed() -> None:
    assert len(set(TEXTS.values())) == len(TEXTS)
    assert all(text == text.strip() for text in TEXTS.values())


@pytest.mark.parametrize(("question", "gold"), GOLD)
def test_gold_slices_exactly(question: str, gold: dict[str, Any]) -> None:
    assert list(gold) == ["id", "start", "end", "text"]
    text = TEXTS[gold["id"]]
    assert 0 <= gold["start"] < gold["end"] <= len(text)
    assert text[gold["start"] : gold["end"]] == gold["text"] == gold["text"].strip()
    assert text.count(gold["text"]) == 1


def test_question_types() -> None:
    counts = Counter(question["type"] for question in QUESTIONS)
    assert set(counts) == TYPES
    assert counts["yes-no"] >= 4
    assert counts["unanswerable"] >= 4


def test_answers_fit_the_type() -> None:
    for question in QUESTIONS:
        kind, answers = question["type"], question["answers"]
        assert len(set(answers)) == len(answers)
        assert bool(answers) == bool(question["evidence_gold"]) == (kind != "unanswerable")
        assert (answers in (["yes"], ["no"])) == (kind == "yes-no")
    verdicts = Counter(q["answers"][0] for q in QUESTIONS if q["type"] == "yes-no")
    assert verdicts["yes"] >= 2 and verdicts["no"] >= 2


def test_enough_questions_need_two_documents() -> None:
    documents = {question["id"]: len(_gold_documents(question)) for question in QUESTIONS}
    assert sum(count == 2 for count in documents.values()) >= 10
    for question in QUESTIONS:
        if question["type"] in ("two-hop", "comparison"):
            assert documents[question["id"]] == 2
        elif question["type"] == "single":
            assert documents[question["id"]] == 1


def test_an_extracted_answer_stands_in_the_gold() -> None:
    """Words to copy are there to be copied; yes/no and comparisons are concluded instead."""
    for question in QUESTIONS:
        if question["type"] in ("single", "two-hop"):
            gold = " ".join(gold["text"] for gold in question["evidence_gold"]).lower()
            assert any(answer.lower() in gold for answer in question["answers"]), question["id"]


def test_some_answers_stand_in_blocks_other_languages_and_the_long_document() -> None:
    blocks = [gold["text"] for _, gold in GOLD]
    assert any(text.startswith("|") for text in blocks)
    assert any(text.startswith("```") for text in blocks)
    assert any(_LIST_ITEM.match(text) for text in blocks)
    named = {gold["id"] for _, gold in GOLD}
    assert {"hasenkamp-linse", "shiomihama", "open-day-mail", LONG, UNTITLED} <= named


def test_the_readme_gives_the_right_counts() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    counts = Counter(question["type"] for question in QUESTIONS)
    assert f"{len(DOCUMENTS)} short documents" in readme
    assert f"{len(QUESTIONS)} questions" in readme
    for kind in TYPES:
        assert re.search(rf"`{kind}` \((?:{counts[kind]}|{counts[kind]} questions)\)", readme)


@pytest.mark.parametrize(("question", "gold"), GOLD)
def test_gold_starts_and_ends_where_segments_do(question: str, gold: dict[str, Any]) -> None:
    segments = list(segment(TEXTS[gold["id"]]))
    assert gold["start"] in {part.start for part in segments}
    assert gold["end"] in {part.end for part in segments}
