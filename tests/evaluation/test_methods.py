from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.evaluation.cells import Cell, compare
from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.evaluation.differences import differences, explained_tests, shown_p
from grasp_cli.evaluation.methods import Methods
from grasp_cli.evaluation.significance import mcnemar
from grasp_cli.evaluation.statistics import mean_interval
from grasp_cli.pipe.errors import DataError, UsageError

GOLD = "alpha beta gamma delta"


def answered(dataset: str, right: float, seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Records whose answers hold each gold word with probability `right`."""
    source = random.Random(seed)
    return [
        {
            "id": f"q{number}",
            "question": f"{dataset} {number}?",
            "answers": [GOLD],
            "answer": " ".join(w if source.random() < right else "no" for w in GOLD.split()),
        }
        for number in range(count)
    ]


def evaluation(label: str, records: dict[str, list[dict[str, Any]]]) -> Evaluation:
    found = Evaluation(label)
    for dataset, items in records.items():
        for item in items:
            found.add(item, dataset)
    found.finish()
    return found


def test_rows_per_dataset_and_overall() -> None:
    none = evaluation("none", {"a": answered("a", 0.5, 1), "b": answered("b", 0.9, 2, 20)})
    grasp = evaluation("grasp", {"a": answered("a", 0.6, 3), "b": answered("b", 0.8, 4, 20)})
    rows = Methods([none, grasp]).rows()
    assert [(row["dataset"], row["label"], row["n"]) for row in rows] == [
        ("a", "none", 60),
        ("a", "grasp", 60),
        ("b", "none", 20),
        ("b", "grasp", 20),
        ("overall", "none", 80),
        ("overall", "grasp", 80),
    ]
    for first, second, whole in ((rows[0], rows[2], rows[4]), (rows[1], rows[3], rows[5])):
        assert whole["f1"] == pytest.approx((60 * first["f1"] + 20 * second["f1"]) / 80, abs=1e-4)
        assert whole["f1_low"] < whole["f1"] < whole["f1_high"]
    values = list(none.own["a"].values["f1"])
    low, high = mean_interval(values)
    assert (rows[0]["f1_low"], rows[0]["f1_high"]) == (round(low, 4), round(high, 4))
    assert rows[0]["removed_low"] is None
    [only] = Methods([evaluation("x", {"": answered("a", 0.5, 1)})]).rows(intervals=False)
    assert only["dataset"] is None and "f1_low" not in only


def test_differences_are_paired_by_id() -> None:
    none, other = answered("a", 0.5, 1), answered("a", 0.7, 3)
    methods = Methods(
        [evaluation("none", {"": none}), evaluation("grasp", {"": other[::-1][:50]})], "none"
    )
    first, second = (each.own[""] for each in (evaluation("n", {"": none}),) * 2)
    del second
    f1 = dict(zip(first.keys, first.values["f1"], strict=True))
    theirs = evaluation("g", {"": other}).own[""]
    pairs = [v - f1[k] for k, v in zip(theirs.keys, theirs.values["f1"], strict=True)][::-1][:50]
    [found] = [each for each in methods.differences if each.metric.name == "f1"]
    assert found.n == 50
    assert found.value == pytest.approx(sum(pairs) / 50, abs=1e-4)
    assert (found.low, found.high) == pytest.approx(mean_interval(pairs), abs=1e-4)
    assert found.test == "permutation"
    assert found.p == found.p_holm  # one method only
    [em] = [each for each in methods.differences if each.metric.name == "em"]
    assert em.test == "mcnemar"
    assert methods.notes() == [
        "grasp vs none: 10 questions are in only one of them and not compared; "
        "--gold FILE counts them"
    ]


def test_right_and_wrong_are_counted_by_hand() -> None:
    def record(number: int, right: bool) -> dict[str, Any]:
        answer = "yes" if right else "blue"
        return {"id": str(number), "question": "?", "answers": ["yes"], "answer": answer}

    first = [record(number, number < 3) for number in range(20)]
    second = [record(number, number < 12 and number != 1) for number in range(20)]
    methods = Methods([evaluation("a", {"": first}), evaluation("b", {"": second})], "a")
    [em] = [each for each in methods.differences if each.metric.name == "em"]
    assert em.value == 0.4  # nine gained, one lost
    assert em.p == pytest.approx(mcnemar(9, 1)) == pytest.approx(2 * 11 / 1024)
    assert em.sentence() == (
        f"b vs a: EM +40.0 [{100 * em.low:+.1f}, {100 * em.high:+.1f}], p = 0.021, n = 20"
    )


def test_p_values_are_adjusted_over_methods() -> None:
    parts = {"": answered("a", 0.5, 1)}
    labels = [evaluation(f"m{seed}", {"": answered("a", 0.6, seed)}) for seed in (3, 4, 5)]
    methods = Methods([evaluation("none", parts), *labels], "none")
    found = sorted((e for e in methods.differences if e.metric.name == "f1"), key=lambda e: e.p)
    assert len(found) == 3
    assert found[0].p_holm == pytest.approx(min(1, 3 * found[0].p))
    assert found[1].p_holm == pytest.approx(max(found[0].p_holm, min(1, 2 * found[1].p)))
    assert explained_tests(methods.differences).endswith("Holm-adjusted over 3 methods")
    assert len(methods.sentences("f1")) == 3
    row = methods.rows()[1]
    assert (row["baseline"], row["f1_diff_n"]) == ("none", 60)
    assert "baseline" not in methods.rows()[0]


def test_a_baseline_against_itself_differs_by_nothing() -> None:
    same = evaluation("a", {"": answered("a", 0.5, 1)}).own[""]
    other = evaluation("b", {"": answered("a", 0.5, 1)}).own[""]
    for each in differences([same, other], same):
        assert (each.value, each.low, each.high, each.p) == (0, 0, 0, 1)


def test_a_baseline_that_is_no_row() -> None:
    with pytest.raises(UsageError, match='no row "z"; there are a, b'):
        Methods([evaluation(x, {"": answered("a", 0.5, 1)}) for x in "ab"], "z")


def test_a_method_that_lacks_a_dataset_is_told() -> None:
    both = {"a": answered("a", 0.5, 1), "b": answered("b", 0.5, 2)}
    methods = Methods([evaluation("x", both), evaluation("y", {"a": both["a"]})], "x")
    assert "y: nothing of b; its row overall lacks it" in methods.notes()


@pytest.mark.parametrize(
    ("p", "shown"), [(0.0204, "p = 0.02"), (0.5, "p = 0.5"), (1.0, "p = 1"), (1e-4, "p < 0.001")]
)
def test_p_values_as_people_read_them(p: float, shown: str) -> None:
    assert shown_p(p) == shown


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
    return path


def test_cells_of_files(tmp_path: Path) -> None:
    """Equal ids in two datasets are two questions; a cell that lost records shows it."""
    gold, cells = {}, []
    for number, dataset in enumerate(("a", "b")):
        gold[dataset] = write(tmp_path / dataset / "gold.jsonl", answered(dataset, 1, 0, 30))
        for method, right, kept in (("none", 0.5, 30), ("grasp", 0.9, 20)):
            records = answered(dataset, right, number, 30)[:kept]
            path = write(tmp_path / dataset / f"{method}.jsonl", records)
            cells.append(Cell(dataset, method, path))
    rows = {(r["dataset"], r["label"]): r for r in compare(cells, gold=gold).rows()}
    assert (rows["a", "grasp"]["n"], rows["a", "grasp"]["missing"]) == (30, 10)
    assert (rows["overall", "grasp"]["n"], rows["overall", "grasp"]["missing"]) == (60, 20)
    found = compare(cells, gold=gold, baseline="none")
    assert [each.n for each in found.differences if each.metric.name == "f1"] == [30, 30, 60]
    assert found.sentences("f1")[-1].startswith("overall: grasp vs none: F1 +")
    swapped = [Cell("a", "none", cells[0].file), Cell("a", "grasp", cells[3].file)]
    with pytest.raises(DataError, match=r'a/none\.jsonl but "b 0\?" in .*b/grasp\.jsonl'):
        compare(swapped)
