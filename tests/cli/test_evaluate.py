from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.evaluation.metrics import BY_NAME, ranking_metrics
from tests.conftest import GRASP, SHARED, Run, lines

ERROR = {"stage": "answer", "type": "TooSlow", "message": "late", "retryable": True}


def record(number: int, answer: str | None = None, **more: Any) -> dict[str, Any]:
    given = {} if answer is None else {"answer": answer}
    return {"id": str(number), "question": "Who?", "answers": ["Ann Lee"], **given, **more}


RECORDS = [
    record(1, "Ann Lee"),
    record(2, "It was Ann Lee"),
    record(3, "Bob"),
    record(4, "Ann Lee", error=ERROR),
    record(5),
]
EXPECTED = {"n": 5, "failed": 1, "missing": 1, "em": 0.2, "contains": 0.4}


def text(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(item) + "\n" for item in records)


def row(done: Any) -> dict[str, Any]:
    [only] = json.loads(done.stdout)
    return dict(only)


def test_one_file(grasp: Run) -> None:
    done = grasp("evaluate", "--format", "json", stdin=text(RECORDS))
    found = row(done)
    assert {name: found[name] for name in EXPECTED} == EXPECTED
    assert found["f1"] == pytest.approx((1 + 2 / 3) / 5, abs=1e-4)
    assert found["label"] == "stdin"


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("gold no, answer not knowing", {"contains": 0}),
        ("gold that normalises to nothing", {"em": 0, "contains": 0, "f1": 0, "rouge_l": 0}),
        ("answers outside ASCII", {"f1": 1, "rouge_l": 1, "em": 1, "contains": 1}),
    ],
)
def test_cases(grasp: Run, name: str, metric: dict[str, float]) -> None:
    path = SHARED / "cases/cases.jsonl"
    if not path.exists():
        pytest.skip("needs ../shared/cases, which is not here")
    [case] = [case for case in lines(path.read_text()) if case["name"] == name]
    found = row(grasp("evaluate", "--format", "json", stdin=text([case["input"]])))
    assert {key: found[key] for key in metric} == metric


def test_files_side_by_side_in_every_format(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text(text(RECORDS))
    (tmp_path / "grasp.jsonl").write_text(text(RECORDS[:3]))
    files = ("evaluate", "none.jsonl", "grasp.jsonl")
    rows = json.loads(grasp(*files, "--format", "json").stdout)
    assert [(item["label"], item["n"]) for item in rows] == [("none", 5), ("grasp", 3)]
    assert lines(grasp(*files, "--format", "jsonl").stdout) == rows
    [first, _] = csv.DictReader(io.StringIO(grasp(*files, "--format", "csv").stdout))
    assert (first["label"], first["em"], first["removed"]) == ("none", "0.2", "")
    assert "none\t5\t1\t1\t0.2" in grasp(*files, "--format", "tsv").stdout
    assert "| none | 5 | 1 | 1 | 20.0 [0.0, 60.0] |" in grasp(*files, "--format", "md").stdout
    table = grasp(*files, "--label", "plain", "--no-intervals", COLUMNS="40").stdout
    assert table.splitlines()[0].split()[:3] == ["n", "failed", "missing"]
    assert "plain  5       1        1  20.0        40.0  33.3   33.3" in table
    assert re.search(r"^grasp +3 +0 +0 +33\.3 ", table, re.MULTILINE)


def test_a_pipe_never_clips_the_table(grasp: Run, tmp_path: Path) -> None:
    full = {
        "compression": {"tokens_in": 1000, "tokens_out": 205, "seconds": 12.5},
        "reader": {"seconds": 0.0412},
        "retrieval": {"seconds": 0.25},
        "contexts": [{"id": "d", "text": "x"}],
        "evidence_gold": [{"id": "d"}],
    }
    name = "a-rather-long-name-of-a-run"
    (tmp_path / f"{name}.jsonl").write_text(text([record(1, "Ann Lee", **full)]))
    (tmp_path / "b.jsonl").write_text(text([record(1, "Bob", **full)]))
    tables = {
        grasp("evaluate", f"{name}.jsonl", "b.jsonl", COLUMNS=columns).stdout
        for columns in ("20", "40", "300")
    }
    [table] = tables
    assert name in table
    assert table.isascii()
    for number in ("100.0", "79.5", "12.50", "0.041", "0.250"):
        assert re.search(rf"(?<!\S){re.escape(number)}(?!\S)", table)


def test_scored_records(grasp: Run, tmp_path: Path) -> None:
    done = grasp("evaluate", "-o", "scored.jsonl", stdin=text(RECORDS))
    scored = lines((tmp_path / "scored.jsonl").read_text())
    assert "EM %" in done.stdout
    assert [item["id"] for item in scored] == ["1", "2", "3", "4", "5"]
    assert scored[0] == {
        **RECORDS[0],
        "scores": {"em": 1.0, "contains": 1.0, "f1": 1.0, "rouge_l": 1.0},
    }
    assert scored[3] == RECORDS[3]
    assert scored[4]["scores"]["em"] == 0
    piped = grasp("evaluate", "-o", "-", stdin=text(RECORDS))
    assert lines(piped.stdout) == scored
    assert "EM %" in piped.stderr


def test_gold_names_what_never_came(grasp: Run, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(text([record(number) for number in range(1, 11)]))
    bare = [{"id": "1", "question": "Who?", "answer": "Ann Lee"}]
    options = ("evaluate", "--gold", "gold.jsonl", "--format", "json")
    found = row(grasp(*options, stdin=text(bare)))
    assert (found["n"], found["missing"], found["em"]) == (10, 9, 0.1)
    assert grasp(*options, stdin="").returncode == 4
    empty = row(grasp(*options, "--allow-empty", stdin=""))
    assert (empty["n"], empty["missing"], empty["em"]) == (10, 10, 0)


def test_gates(grasp: Run, tmp_path: Path) -> None:
    met = grasp("evaluate", "--min", "em=0.2", "--min", "contains=0.4", stdin=text(RECORDS))
    assert met.returncode == 0
    unmet = grasp("evaluate", "--min", "em=0.21", "-o", "scored.jsonl", stdin=text(RECORDS))
    assert unmet.returncode == 8
    assert "em is 0.2, at least 0.21 is asked" in unmet.stderr
    assert "EM %" in unmet.stdout  # the table and the records are there all the same
    assert (tmp_path / "scored.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        ((), "", 4, "no record at all"),
        (("--format", "xls"), text(RECORDS), 2, 'no format "xls"; there are table, json'),
        (("--min", "f2=1"), text(RECORDS), 2, 'no metric "f2"; there are n, failed'),
        (("--label", "a", "--label", "b"), text(RECORDS), 2, "--label is given 2 times"),
        (("--retrieval", "--stemming"), text(RECORDS), 2, "--stemming is for answers"),
        (("-o", "x.jsonl", "-", "-"), text(RECORDS), 2, "-o takes the records of one file"),
        ((), text(RECORDS[:1] * 2), 4, 'the id "1" was used before'),
        ((), '[{"id": "1"}]', 4, "a JSON array"),
        (("--on-error", "skip"), text(RECORDS) + "broken\n", 7, "not JSON"),
    ],
)
def test_what_is_wrong(
    grasp: Run, arguments: tuple[str, ...], stdin: str, code: int, message: str
) -> None:
    done = grasp("evaluate", *arguments, stdin=stdin)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_metric_is_defined_without_any_input(grasp: Run) -> None:
    shown = grasp("evaluate", "--explain-metrics").stdout
    for metric in (*BY_NAME.values(), *ranking_metrics((5, 20))):
        assert f"{metric.name}: {metric.definition}." in shown


def test_a_table_for_people_shows_the_main_metrics(grasp: Run) -> None:
    timed = [record(1, "Ann Lee", reader={"seconds": 2.0, "prompt_tokens": 70})]
    main = grasp("evaluate", "--format", "md", stdin=text(timed)).stdout
    assert "answer s" in main and "p95" not in main and "prompt" not in main
    everything = grasp("evaluate", "--format", "md", "--details", stdin=text(timed)).stdout
    assert "answer p95" in everything and "| 70 |" in everything
    assert "STR-EM" not in everything  # no record has such a value
    found = row(grasp("evaluate", "--format", "json", stdin=text(timed)))
    assert (found["seconds_answer_p95"], found["throughput_answer"]) == (2, 0.5)
    assert found["str_em"] is None


def test_metrics_that_are_asked_for(grasp: Run, tmp_path: Path) -> None:
    from tests.models.test_span_reader import question_answerer

    question_answerer(tmp_path / "qa")
    pairs = [{"question": "Who won in 1990?", "short_answers": ["Ann Lee"]}]
    asqa = text([record(1, "Ann Lees won", qa_pairs=pairs)])
    found = row(grasp("evaluate", "--format", "json", stdin=asqa))
    assert (found["str_em"], found["entity_f1"], found["disambig_f1"]) == (1, 0, None)
    assert found["rouge_l_stem"] is None
    options = ("evaluate", "--format", "json", "--qa-model", "qa", "--stemming")
    more = row(grasp(*options, stdin=asqa))
    assert 0 <= more["disambig_f1"] <= 1
    assert more["rouge_l_stem"] > found["rouge_l"]
    missing = grasp("evaluate", "--qa-model", "not/here", stdin=asqa)
    assert missing.returncode == 3 and "not/here" in missing.stderr


def test_no_heavy_library_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text(RECORDS))
    code = (
        "import sys; from grasp_cli.cli.main import app\n"
        f"try: app(['evaluate', {str(path)!r}, '--quiet'])\n"
        "except SystemExit: pass\n"
        "heavy = ('torch', 'transformers', 'nltk', 'rouge_score', 'tokenizers')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("columns", ["40", "200"])
def test_in_a_terminal_every_number_is_whole(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text(RECORDS))
    parent, child = pty.openpty()
    subprocess.run(
        [*GRASP, "evaluate", str(path)],
        stdout=child,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": columns},
        timeout=60,
        check=True,
    )
    os.close(child)
    shown = ""
    while True:
        try:
            shown += os.read(parent, 4096).decode()
        except OSError:  # all was read
            break
    os.close(parent)
    words = re.sub(r"\x1b\[[0-9;]*m", "", shown).split()
    assert {"20.0", "40.0", "33.3"} <= set(words)


def test_records_stream_out_before_the_input_ends() -> None:
    evaluate = subprocess.Popen(
        [*GRASP, "evaluate", "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert evaluate.stdin
    assert evaluate.stdout
    evaluate.stdin.write(text(RECORDS[:1]).encode())
    evaluate.stdin.flush()
    assert json.loads(evaluate.stdout.readline())["scores"]["em"] == 1
    _, shown = evaluate.communicate(text(RECORDS[1:2]).encode(), timeout=60)
    assert b"50.0" in shown


def many(tmp_path: Path) -> None:
    """Two datasets by two methods, in folders, and the gold of both."""
    for number, dataset in enumerate(("nq", "hotpotqa")):
        (tmp_path / dataset).mkdir()
        gold = [{**record(n), "question": f"{dataset} {n}?"} for n in range(30)]
        (tmp_path / dataset / "gold.jsonl").write_text(text(gold))
        for method, right in (("none", 10), ("grasp", 22 + number)):
            found = [{**g, "answer": "Ann Lee" if n < right else "x"} for n, g in enumerate(gold)]
            (tmp_path / dataset / f"{method}.jsonl").write_text(text(found[: 30 - 5 * number]))


FILES = ("nq/none.jsonl", "nq/grasp.jsonl", "hotpotqa/none.jsonl", "hotpotqa/grasp.jsonl")
FOLDERS = ("evaluate", *FILES, "--by-folder", "--gold", "nq/gold.jsonl", "--gold")


def test_datasets_methods_and_a_baseline(grasp: Run, tmp_path: Path) -> None:
    many(tmp_path)
    arguments = (*FOLDERS, "hotpotqa/gold.jsonl", "--baseline", "none")
    done = grasp(*arguments, "--format", "json")
    rows = {(row["dataset"], row["label"]): row for row in json.loads(done.stdout)}
    assert list(rows) == [(d, m) for d in ("nq", "hotpotqa", "overall") for m in ("none", "grasp")]
    whole = rows["overall", "grasp"]
    assert (whole["n"], whole["missing"], whole["em"]) == (60, 5, 0.75)
    assert (whole["em_diff"], whole["em_diff_n"], whole["em_test"]) == (0.4167, 60, "mcnemar")
    assert whole["em_p"] == pytest.approx(2**-24)  # 25 gained, none lost
    assert rows["overall", "none"]["em_diff"] is None
    assert "overall: grasp vs none: F1 +41.7 [+30.0, +53.3], p < 0.001, n = 60" in done.stderr
    table = grasp(*arguments).stdout
    assert "nq: grasp vs none: F1 +40.0 [" in table
    assert table.endswith("p: McNemar's exact test)\n")  # every F1 is 0 or 1


def test_a_baseline_file_that_is_no_other_input(grasp: Run, tmp_path: Path) -> None:
    many(tmp_path)
    done = grasp("evaluate", "nq/grasp.jsonl", "--baseline", "nq/none.jsonl", "--min", "em=0.7")
    assert done.returncode == 0  # the gate is not the baseline's
    assert "grasp vs none: F1 +40.0" in done.stdout
    unknown = grasp("evaluate", "nq/grasp.jsonl", "--baseline", "nothing.jsonl")
    assert unknown.returncode == 2
    assert 'no row "nothing.jsonl"; there are grasp' in unknown.stderr
    other = grasp("evaluate", "nq/grasp.jsonl", "--baseline", "hotpotqa/none.jsonl")
    assert other.returncode == 4
    assert 'record "0": its question is "hotpotqa 0?" in hotpotqa/none.jsonl but "nq 0?"' in (
        other.stderr
    )


def test_scores_of_all_files_as_a_table(grasp: Run, tmp_path: Path) -> None:
    many(tmp_path)
    assert grasp(*FOLDERS, "hotpotqa/gold.jsonl", "-o", "scores.csv").returncode == 0
    rows = list(csv.DictReader((tmp_path / "scores.csv").open()))
    assert len(rows) == 120
    assert rows[0] == {**rows[0], "dataset": "nq", "label": "none", "id": "0", "em": "1"}
    lost = [row for row in rows if row["dataset"] == "hotpotqa" and row["id"] == "29"]
    assert [row["f1"] for row in lost] == ["0", "0"]
    grasp("evaluate", FILES[0], "-o", "scores.tsv")
    assert (tmp_path / "scores.tsv").read_text().startswith("dataset\tlabel\tid\tem\t")


def test_plots_in_characters_and_a_page(grasp: Run, tmp_path: Path) -> None:
    spent = {"compression": {"tokens_in": 90, "tokens_out": 30}, "reader": {"seconds": 0.5}}
    (tmp_path / "a.jsonl").write_text(text([record(n, "Ann Lee", **spent) for n in range(4)]))
    (tmp_path / "b.jsonl").write_text(text([record(n, "Ann", **spent) for n in range(4)]))
    done = grasp("evaluate", "a.jsonl", "b.jsonl", "--plot")
    assert "F1 % against tokens of the context" in done.stdout
    assert "F1 % against seconds end to end" in done.stdout
    piped = grasp("evaluate", "--format", "html", stdin=(tmp_path / "a.jsonl").read_text())
    assert piped.stdout.startswith("<!DOCTYPE html>") and piped.stdout.endswith("</html>\n")
    assert piped.stdout.count("data-question=") == 4
    assert '"answer":"Ann Lee"' in piped.stdout  # standard input was kept for it
    files = ("evaluate", "a.jsonl", "b.jsonl", "--baseline", "a", "--questions", "3")
    page = grasp(*files, "--format", "html").stdout
    assert page.count("data-question=") == 3 and "3 of 4 questions" in page
    assert "b vs a: F1 -33.3" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by-folder", "--dataset", "x"), "--by-folder takes labels and datasets from the paths"),
        (("--by-folder",), "--by-folder: standard input has no folder"),
        (("--dataset", "a", "--dataset", "b"), "--dataset is given 2 times for 1 files"),
        (("--retrieval", "--plot"), "--plot is for answers"),
        (("--quality", "f2"), 'no metric "f2"'),
    ],
)
def test_options_that_do_not_go_together(
    grasp: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = grasp("evaluate", *arguments, stdin=text(RECORDS))
    assert done.returncode == 2
    assert message in done.stderr
