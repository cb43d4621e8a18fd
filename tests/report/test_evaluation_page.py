from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.metrics import METRICS
from grasp_cli.evaluation.summary import Key
from grasp_cli.report.comparison_table import comparison_table
from grasp_cli.report.evaluation_page import Report, page
from grasp_cli.report.questions import fill, rebuilt, worst_questions

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\u2028"
TEXT = f"😀 One{EVIL}. Two. Three."


def record(number: int, right: bool, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{number}{EVIL}",
        "question": f"Who is {number}{EVIL}?",
        "answers": ["Ann Lee"],
        "contexts": [{"id": "d", "title": f"T{EVIL}", "text": TEXT}, {"id": "e", "text": "Four."}],
        "answer": "Ann Lee" if right else f"Bob{EVIL}",
        "compression": {"tokens_in": 10, "tokens_out": 10 if more == {} else 4},
        "evidence_gold": [{"id": "d", "start": 2, "end": 5}, {"id": "e"}],
        **more,
    }


def kept(number: int, right: bool) -> dict[str, Any]:
    start = TEXT.index("Two")
    piece = {"context": "d", "start": start, "end": start + 4, "text": "Two."}
    return record(number, right, evidence=[piece], context=f"T{EVIL}\nTwo.")


LABEL = f"grasp{EVIL}"
NONE = [record(n, n != 1) for n in range(6)]
GRASP = [kept(n, n not in (3, 4)) for n in range(6)]


def evaluation(label: str, records: list[dict[str, Any]]) -> Evaluation:
    found = Evaluation(label)
    for item in records:
        found.add(item, EVIL)
    found.finish()
    return found


def made(baseline: str | None = "none", count: int = 0) -> str:
    methods = Methods([evaluation("none", NONE), evaluation(LABEL, GRASP)], baseline)
    questions = worst_questions(methods, "f1", count)
    pairs = [("none", each) for each in NONE] + [(LABEL, each) for each in GRASP]
    fill(questions, methods, [(label, Key(EVIL, each["id"]), each) for label, each in pairs])
    table = comparison_table(methods, METRICS)
    return "\n".join(page(Report(methods, table, "f1", [EVIL]), list(questions.values())))


class Reader(HTMLParser):
    """Tags and texts as a browser takes them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inside.setdefault(self._open[-1], []).append(data)


def data_of(text: str) -> Any:
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found)


def test_nothing_from_the_data_becomes_markup() -> None:
    text = made()
    reader = Reader(text)
    assert "alert" not in "".join(reader.inside["script"][1:])  # the data is JSON, never run
    scripts = [attributes for tag, attributes in reader.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert "img" not in {tag for tag, _ in reader.tags}
    for _, attributes in reader.tags:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert text.count(EVIL) == 0
    assert data_of(text)["questions"][0]["sets"][0]["documents"][0]["text"] == TEXT


def test_only_the_page_s_own_script_may_run() -> None:
    text = made()
    [policy] = re.findall(r'content="(default-src[^"]*)"', text)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy


def test_worst_losses_come_first() -> None:
    questions = data_of(made())["questions"]
    assert [each["id"][0] for each in questions] == ["3", "4", "0", "2", "5", "1"]
    assert questions[0]["worst"] == LABEL
    assert len(data_of(made(count=2))["questions"]) == 2
    assert "2 of 6 questions, worst losses first" in made(count=2)
    alone = made(baseline=None)
    assert "lowest first" in alone and "Against" not in alone
    assert {each["id"][0] for each in data_of(alone)["questions"][:3]} == {"1", "3", "4"}


def test_before_and_after() -> None:
    question = data_of(made())["questions"][0]
    assert len(question["sets"]) == 1  # both methods had the same contexts
    assert question["sets"][0]["gold"] == [[0, 2, 5], [1, 0, 5]]
    none, grasp = question["methods"]
    assert none["spans"] == [[0, 0, len(TEXT)], [1, 0, 5]]
    assert none["tokens"] == [10, 10] and grasp["tokens"] == [10, 4]
    [span] = grasp["spans"]
    assert TEXT[span[1] : span[2]] == "Two."
    assert "context" not in grasp  # it follows from the spans
    assert rebuilt(question["sets"][0]["documents"], grasp["spans"]) == f"T{EVIL}\nTwo."
    assert dict(grasp["scores"])["F1"] == 0 and dict(none["scores"])["F1"] == 100


def test_contexts_that_do_not_follow_from_spans_are_there_as_they_are() -> None:
    written = {**record(0, True, context="A summary.", evidence=[]), "answer_full": "Bob"}
    failed = record(1, True, error={"stage": "answer", "message": "late"})
    methods = Methods([evaluation("x", [written, failed])])
    questions = worst_questions(methods, "f1", 0)
    fill(questions, methods, [("x", Key(EVIL, r["id"]), r) for r in (written, failed)])
    own, full = questions[Key(EVIL, written["id"])].methods
    assert own["context"] == "A summary." and own["answer"] == "Ann Lee"
    assert full["label"] == "x (full)" and full["answer"] == "Bob" and len(full["spans"]) == 2
    assert questions[Key(EVIL, failed["id"])].methods[0]["error"] == "answer: late"


def test_table_sentences_and_plots_are_there() -> None:
    text = made()
    reader = Reader(text)
    tags = [tag for tag, _ in reader.tags]
    assert tags.count("svg") == 1  # tokens: seconds are not known
    assert "vs none: F1" in text
    assert "<b>83.3</b>" in text  # the best F1, of none
    assert "What the columns mean" in text
    rows = [attributes for tag, attributes in reader.tags if "data-question" in attributes]
    assert [each["data-question"] for each in rows] == ["0", "1", "2", "3", "4", "5"]
    assert all(each["aria-expanded"] == "false" for each in rows)


@pytest.mark.parametrize("count", [1, 3])
def test_every_cell_of_a_question_says_what_it_sorts_by(count: int) -> None:
    text = made(count=count)
    body = text.partition('<table id="questions">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(<td.*?)</tr>", body, re.S)
    assert len(rows) == count
    headings = body.count("data-column=")
    for row in rows:
        assert len(re.findall(r"<td[^>]* data-v=", row)) == headings == 5
