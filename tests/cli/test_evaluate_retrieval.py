"""`grasp evaluate --retrieval` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, lines

QRELS = "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n2\ta\t1\n3\tz\t1\n"


def record(identity: str, *documents: str) -> dict[str, Any]:
    contexts = [{"id": name, "text": "x"} for name in documents]
    return {"id": identity, "question": "Who?", "contexts": contexts}


RECORDS = "".join(
    json.dumps(item) + "\n" for item in (record("1", "b", "a"), record("2", "b", "x", "a"))
)


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text(QRELS)
    (tmp_path / "run.jsonl").write_text(RECORDS)


def test_table_records_and_gates(grasp: Run, tmp_path: Path) -> None:
    options = ("evaluate", "--retrieval", "--qrels", "qrels.tsv", "--at", "2", "--at", "2")
    done = grasp(*options, "run.jsonl", "-o", "scored.jsonl", "--min", "recall@2=0.5")
    assert done.returncode == 0, done.stderr
    heading, _, *rest = done.stdout.splitlines()
    assert [line.split() for line in (heading, *rest)] == [
        ["run"],
        ["n", "3"],
        ["failed", "0"],
        ["missing", "1"],
        ["R@2", "%", "[95", "%]", "50.0", "[0.0,", "100.0]"],
        ["hit@2", "%", "[95", "%]", "66.7", "[0.0,", "100.0]"],
        ["MRR", "%", "[95", "%]", "50.0", "[0.0,", "100.0]"],
        ["nDCG@10", "%", "[95", "%]", "52.7", "[0.0,", "95.0]"],
        ["MAP", "%", "[95", "%]", "44.4", "[0.0,", "83.3]"],
    ]
    scores = [item["scores"] for item in lines((tmp_path / "scored.jsonl").read_text())]
    assert [score["mrr"] for score in scores] == [0.5, 1.0]
    assert set(scores[0]) == {"recall@2", "hit@2", "mrr", "ndcg@10", "map"}
    failing = grasp(*options, "--format", "json", "--min", "map=0.5", stdin=RECORDS)
    assert failing.returncode == 8
    assert "stdin: map is 0.4444, at least 0.5 is asked" in failing.stderr
    [row] = json.loads(failing.stdout)
    assert (row["map"], row["map_low"], row["map_high"]) == (0.4444, 0.0, 0.8333)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--qrels", "qrels.tsv"), 2, "--qrels belongs to --retrieval"),
        (("--at", "3"), 2, "--at belongs to --retrieval"),
        (("--retrieval", "--min", "f1=0.4"), 2, 'no metric "f1"; there are n, failed, missing, re'),
        (("--retrieval",), 4, 'run: nothing says what is relevant to record "1"'),
        (("--retrieval", "--qrels", "broken.tsv"), 4, "broken.tsv:6: expected query id"),
        (("--retrieval", "--qrels", "none.tsv"), 4, "none.tsv: cannot be opened"),
        (("--retrieval", "--qrels", "other.tsv"), 4, 'its ids are like "1", those of --qrels like'),
        (("--retrieval", "--qrels", "qrels.tsv", "-o", "run.jsonl"), 2, "this is also an input"),
    ],
)
def test_what_is_wrong(
    grasp: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "broken.tsv").write_text(QRELS + "3\tz\n")
    (tmp_path / "other.tsv").write_text("q1 0 a 1\n")
    done = grasp("evaluate", *arguments, "run.jsonl")
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_units_of_evidence(grasp: Run, tmp_path: Path) -> None:
    gold = [{"id": "a", "start": 0, "end": 4}, {"id": "c"}]
    rows = [{**record("1", "b", "a"), "evidence_gold": gold}]
    (tmp_path / "units.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = grasp("evaluate", "--retrieval", "--units", "--format", "jsonl", "units.jsonl")
    assert done.returncode == 0, done.stderr
    [row] = lines(done.stdout)
    assert [row[f"unit_recall@{k}"] for k in (1, 3, 5)] == [0, 0.5, 0.5]
    assert row["ie@3"] == row["ie_of_means@3"] == pytest.approx(1 / 6, abs=1e-4)
    assert row["ie@5_low"] == row["ie@5_high"] == 0.1
    refused = grasp("evaluate", "--units", "units.jsonl")
    assert refused.returncode == 2 and "--units is for --retrieval" in refused.stderr
