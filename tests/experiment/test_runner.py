"""Cells: once done they stay, interrupted they go on, changed they are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grasp_cli.pipe.errors import ProcessingError, RecordError, TooSlow, UsageError
from tests.experiment.helpers import CONFIG, TEXT, Bench, jsonl, question, unreachable

IDS = [f"q{number}" for number in range(7)]


def test_every_cell_is_there_in_order_and_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    runner = bench.runner()
    assert [str(cell) for cell in runner.run()] == ["mills × none", "mills × lead"]
    assert runner.exit_code() == 0
    assert [record["id"] for record in bench.cell("none")] == IDS
    assert {record["answer"] for record in bench.cell("none")} == {"1874"}
    assert {record["answer"] for record in bench.cell("lead")} == {"unknown"}
    assert bench.built == ["none", "lead"]
    first = list(bench.asked)
    bench.runner().run()
    assert bench.asked == first and bench.built == ["none", "lead"], "nothing is done again"
    assert bench.said[-1] == "mills × lead: 7 questions, done before"


def test_method_by_method_each_made_once(tmp_path: Path) -> None:
    more = '\n[[datasets]]\nname = "two"\nquestions = "mills.jsonl"\nlimit = 2\n'
    bench = Bench(tmp_path, CONFIG + more)
    cells = [str(cell) for cell in bench.runner().run()]
    assert cells == ["mills × none", "two × none", "mills × lead", "two × lead"]
    assert bench.built == ["none", "lead"]
    assert [record["id"] for record in bench.cell("lead", "two")] == ["q0", "q1"]


def test_an_interrupted_cell_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.stop_at = "q5"
    with pytest.raises(KeyboardInterrupt):
        bench.runner().run()
    cells = tmp_path / "out" / "cells" / "mills"
    assert not (cells / "lead.jsonl").exists()
    journal = cells / "lead.journal"
    assert len(journal.read_text().splitlines()) == 3, "the window before"
    with journal.open("a") as stream:
        stream.write('{"id": "q3", "question": "torn')
    bench.stop_at, bench.asked = None, []
    bench.runner().run()
    assert bench.asked == [f"lead q{number}" for number in (3, 4, 5, 6)]
    assert [record["id"] for record in bench.cell("lead")] == IDS
    assert not journal.exists()
    assert "3 of them done before" in bench.said[-1]


def test_a_changed_setting_is_refused_with_the_difference(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.runner().run()
    bench.asked.clear()
    bench.config = CONFIG + "options = { lead-sentences = 2 }\n"
    with pytest.raises(UsageError, match=r"mills × lead: .*options\.lead-sentences = nothing"):
        bench.runner().run()
    assert bench.asked == []
    bench.runner().run(force=True)
    assert bench.asked == [f"lead {name}" for name in IDS], "and only what was changed"
    bench.runner().run()


def test_another_limit_reader_or_content_is_a_change(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.runner().run()
    with pytest.raises(UsageError, match=r"dataset\.limit = nothing \(now 2\).*--force.*-o"):
        bench.runner(limit=2).run()
    bench.config = CONFIG.replace("stand-in", "another")
    with pytest.raises(UsageError, match=r"reader\.reader-model = stand-in \(now another\)"):
        bench.runner().run()
    bench.config = CONFIG
    jsonl(tmp_path / "mills.jsonl", [question(1)])
    with pytest.raises(UsageError, match=r"dataset\.questions = mills\.jsonl \(SHA-256"):
        bench.runner().run()


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.missing = {"none"}
    runner = bench.runner()
    assert [str(cell) for cell in runner.run()] == ["mills × lead"]
    assert runner.exit_code() == 7
    assert "mills × none: no model of none:; get it" in bench.said
    bench.missing = {"none", "lead"}
    again = Bench(tmp_path / "x") if (tmp_path / "x").mkdir() is None else None
    assert again is not None
    again.missing = bench.missing
    runner = again.runner()
    assert runner.run() == [] and runner.exit_code() == 3
    again.missing = set()
    again.config = CONFIG + "options = { lead-sentences = 2 }\n"
    assert len(again.runner().run()) == 2, "a cell without a record can change"


def test_a_dataset_without_its_file_fails_its_own_cells(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CONFIG + '\n[[datasets]]\nname = "gone"\nquestions = "gone.jsonl"\n')
    runner = bench.runner()
    assert [cell.dataset.name for cell in runner.run()] == ["mills", "mills"]
    assert runner.exit_code() == 7
    assert any("gone × lead: " in line and "No such file" in line for line in bench.said)


def test_a_bug_in_a_cell_is_shown_and_the_others_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path)
    made = bench.compressor

    def broken(method):  # type: ignore[no-untyped-def]
        return made(method) if method.name == "lead" else 1 / 0

    bench.compressor = broken  # type: ignore[method-assign]
    runner = bench.runner()
    assert len(runner.run()) == 1 and runner.exit_code() == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_without_its_server_a_cell_ends_at_once_and_keeps_what_it_has(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.reader.fails = {"q4": unreachable()}
    runner = bench.runner()
    assert runner.run() == [] and runner.exit_code() == 3
    assert bench.reader.asked == ["q0", "q1", "q2", "q3", "q4"] * 2
    bench.reader.fails, bench.reader.asked = {}, []
    assert len(bench.runner().run()) == 2
    assert bench.reader.asked == ["q4", "q5", "q6"] * 2


def test_records_that_failed_are_counted_and_tried_again_where_that_may_help(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.reader.fails = {"q1": TooSlow("late"), "q2": RecordError("never")}
    runner = bench.runner()
    assert len(runner.run()) == 2 and runner.exit_code() == 7
    assert "mills × none: 7 questions, 2 failed, " in bench.said[0]
    bench.reader.fails = {"q2": RecordError("never")}
    bench.reader.asked = []
    runner = bench.runner()
    runner.run()
    assert bench.reader.asked == ["q1", "q1"]
    assert [record["id"] for record in bench.cell("lead")] == IDS
    errors = [record["id"] for record in bench.cell("lead") if "error" in record]
    assert errors == ["q2"] and runner.exit_code() == 7


@pytest.mark.parametrize("source", ['documents = "docs.jsonl"', "pool = true"])
def test_documents_are_indexed_once_and_thirty_retrieved(tmp_path: Path, source: str) -> None:
    jsonl(tmp_path / "docs.jsonl", ({"id": f"x{n}", "text": "t"} for n in range(7)))
    bench = Bench(tmp_path, CONFIG.replace('"mills.jsonl"', f'"mills.jsonl"\n{source}'))
    runner = bench.runner()
    assert runner.experiment.retrieve.choices["top_k"] == 30
    runner.run()
    assert bench.asked.count("index 7") == 1
    assert [len(record["contexts"]) for record in bench.cell("none")] == [5] * 7
    kept = (tmp_path / "out" / "datasets" / "mills.jsonl").read_text().splitlines()
    assert len(json.loads(kept[0])["contexts"]) == 40, "all that was retrieved stays to look at"


def test_own_contexts_are_used_as_they_are(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    own = [{"id": f"c{n}", "text": text} for n, text in enumerate("abcdefgh")]
    jsonl(tmp_path / "mills.jsonl", [question(0, contexts=own)])
    bench.runner().run()
    assert bench.cell("none")[0]["contexts"] == own
    bench.config = CONFIG.replace('"mills.jsonl"', '"mills.jsonl"\ntop-k = 3')
    bench.runner().run(force=True)
    assert bench.cell("none")[0]["contexts"] == own[:3]


def test_questions_with_neither_contexts_nor_documents(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    jsonl(tmp_path / "mills.jsonl", [{"id": "a", "question": "Why?"}])
    runner = bench.runner()
    assert runner.run() == [] and runner.exit_code() == 4
    assert "name documents to index" in bench.said[0]


def test_a_method_may_be_for_some_datasets_only(tmp_path: Path) -> None:
    more = '\ndatasets = ["mills"]\n[[datasets]]\nname = "two"\nquestions = "mills.jsonl"\n'
    bench = Bench(tmp_path, CONFIG + more)
    cells = [str(cell) for cell in bench.runner().run()]
    assert cells == ["mills × none", "two × none", "mills × lead"]


def test_a_cell_of_which_every_question_fails_is_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.reader.fails = {name: RecordError("there is no gold") for name in IDS}
    for _ in range(2):
        runner = bench.runner()
        assert runner.run() == [] and runner.exit_code() == 5
    assert bench.said[-1] == "mills × lead: every question failed: there is no gold"
    assert len(bench.reader.asked) == 14, "asked once"


def test_the_format_is_told_from_the_file(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CONFIG.replace("mills.jsonl", "foreign.json"))
    passage = [["Mill", ["It was built in 1874.", " It is high."]]]
    item = {
        "_id": "h1",
        "question": "When?",
        "answer": "1874",
        "context": passage,
        "supporting_facts": [["Mill", 0]],
    }
    (tmp_path / "foreign.json").write_text(json.dumps([item]))
    bench.runner().run()
    [record] = bench.cell("none")
    assert (record["id"], record["answers"]) == ("h1", ["1874"])
    assert record["contexts"][0]["text"] == "It was built in 1874. It is high."


def test_a_directory_with_a_corpus_is_indexed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CONFIG.replace("mills.jsonl", "beir"))
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    jsonl(tmp_path / "beir" / "queries.jsonl", [{"_id": "1", "text": "When was the mill built?"}])
    documents = [{"_id": f"d{n}", "title": "Mill", "text": TEXT} for n in range(3)]
    jsonl(tmp_path / "beir" / "corpus.jsonl", documents)
    (tmp_path / "beir/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    assert bench.runner().experiment.datasets[0].retrieves
    bench.runner().run()
    assert "index 3" in bench.asked
    assert [context["id"] for context in bench.cell("none")[0]["contexts"]] == [
        "p1", "p2", "p3", "p4", "p5",
    ]  # fmt: skip


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = Bench(tmp_path).folder
    with folder.alone(), pytest.raises(ProcessingError, match="another process"), folder.alone():
        pass
    with folder.alone():
        pass
