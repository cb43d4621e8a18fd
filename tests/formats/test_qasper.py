from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.formats import load_format
from grasp_cli.pipe.errors import DataError
from tests.conftest import shared
from tests.formats.helpers import convert

TEXT = (
    "We study nets.\n\nIntroduction\n\nNets are old.\n\nThey tear.\n\nMethod ::: Data\n\n"
    "We mend nets \U0001f41f daily.\n\nTable 1: Nets mended."
)


def answer(*evidence: str, **more: Any) -> dict[str, Any]:
    blank = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    return {"answer": {**blank, "evidence": list(evidence), "highlighted_evidence": [], **more}}


QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "What do they do?",
        "question_id": "a1",
        "answers": [
            answer("We mend nets \U0001f41f daily.", extractive_spans=["mend nets", "daily"]),
            answer("We mend nets \U0001f41f daily.", "They tear.", free_form_answer="They mend."),
            answer(unanswerable=True),
        ],
    },
    {
        "question": "How many?",
        "question_id": "a2",
        "answers": [answer("FLOAT SELECTED: Table 1: Nets mended.", "Gone.", yes_no=False)],
    },
    {
        "question": "Why?",
        "question_id": "a3",
        "answers": [answer("They tear.", unanswerable=True), answer(unanswerable=True)],
    },
    {"question": "When?", "question_id": "a4", "answers": [answer(free_form_answer="Daily")]},
]
PAPER = {
    "title": "On nets",
    "abstract": "We study nets.",
    "full_text": [
        {"section_name": "Introduction", "paragraphs": ["Nets are old.", "They tear.", ""]},
        {"section_name": None, "paragraphs": []},
        {
            "section_name": "Method ::: Data",
            "paragraphs": ["We mend nets \U0001f41f daily.\n"],
        },
    ],
    "qas": QUESTIONS,
    "figures_and_tables": [{"file": "1.png", "caption": "Table 1: Nets mended."}],
}


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: [row[key] for row in rows] for key in rows[0]}


def hub_row() -> dict[str, Any]:
    """The paper as `datasets` gives it: lists of objects as objects of lists."""
    questions = [{**asked, "answers": columns(asked["answers"])} for asked in QUESTIONS]
    return {
        **PAPER,
        "id": "1909.1",
        "full_text": columns(PAPER["full_text"]),  # type: ignore[arg-type]
        "qas": columns(questions),
        "figures_and_tables": columns(PAPER["figures_and_tables"]),  # type: ignore[arg-type]
    }


def test_answers_evidence_and_text(tmp_path: Path) -> None:
    records, form = convert("qasper", tmp_path, {"1909.1": PAPER})
    assert records == convert("qasper", tmp_path, hub_row())[0]
    assert [record["id"] for record in records] == ["a1", "a2", "a3", "a4"]
    for record in records:
        assert record["contexts"] == [{"id": "1909.1", "title": "On nets", "text": TEXT}]
    assert [record["answers"] for record in records] == [
        ["mend nets, daily", "They mend."],
        ["No"],
        [],
        ["Daily"],
    ]
    gold = [record.get("evidence_gold") for record in records]
    assert gold[0] == [
        {"id": "1909.1", "start": 74, "end": 95, "text": "We mend nets \U0001f41f daily."},
        {"id": "1909.1", "start": 45, "end": 55, "text": "They tear."},
    ]
    assert gold[1] == [
        {"id": "1909.1", "start": 97, "end": 118, "text": "Table 1: Nets mended."},
        {"id": "1909.1"},
    ]
    assert gold[2:] == [[], None]
    for piece in [*gold[0], gold[1][0]]:
        assert TEXT[piece["start"] : piece["end"]] == piece["text"]
    notes = +form.notes
    assert sorted(notes.values()) == [1, 1]
    assert any("are not in their paper" in note for note in notes)
    assert any("unanswerable to some" in note for note in notes)


def test_a_paper_whose_text_is_one_string(tmp_path: Path) -> None:
    asked = {"question": "Old?", "answer": "Yes", "evidence": ["They tear.", "They tear."]}
    item = {"doc_id": "p", "text": "They tear. They tear.", "qas": [asked, {"question": "New?"}]}
    records, form = convert("qasper", tmp_path, item)
    assert records == [
        {
            "id": "p/1",
            "question": "Old?",
            "answers": ["Yes"],
            "evidence_gold": [{"id": "p", "start": 0, "end": 10, "text": "They tear."}],
            "contexts": [{"id": "p", "text": "They tear. They tear."}],
        },
        {
            "id": "p/2",
            "question": "New?",
            "contexts": [{"id": "p", "text": "They tear. They tear."}],
        },
    ]
    assert "more than once" in next(iter(+form.notes))


def test_every_piece_of_the_real_file_is_found_where_it_is_said_to_be() -> None:
    path = shared("data/qasper/papers.jsonl")
    records = {record["id"]: record for record in load_format("qasper").records(path)}
    asked = [
        (f"{paper['doc_id']}/{number}", paper["text"], question)
        for paper in map(json.loads, path.read_text().splitlines())
        for number, question in enumerate(paper["qas"], start=1)
    ]
    assert len(records) == len(asked) == 105
    for identity, text, question in asked:
        gold = records[identity].get("evidence_gold", [])
        wanted = list(dict.fromkeys(question["evidence"]))
        assert [text[piece["start"] : piece["end"]] for piece in gold] == wanted
        assert records[identity]["answers"] == [question["answer"]]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"title": "x", "text": "y"}, '"qas" must be there as a list; keys: title, text'),
        ({"qas": [{}], "text": "y"}, r'qas\[0\]: "question" must be there'),
        ({"qas": []}, '"full_text" must be there'),
        ({"qas": [], "full_text": [{"paragraphs": [3]}]}, "parts of a paper must be strings"),
        ({"qas": {"question": ["a"], "answers": []}, "text": "y"}, "must be equally long"),
        (
            {"qas": [{"question": "?", "answers": [{"answer": {}}]}], "text": "y"},
            "free_form_answer",
        ),
    ],
)
def test_what_does_not_fit(tmp_path: Path, item: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert("qasper", tmp_path, item)
