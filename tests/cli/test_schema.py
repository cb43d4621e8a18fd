"""`grasp schema` and `grasp validate`."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grasp_cli.cli.main import app
from grasp_cli.cli.schema import SchemaStage
from grasp_cli.defaults import COMPRESS
from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.pipe.engine import Tally, settle
from grasp_cli.pipe.errors import DataError, TooSlow
from grasp_cli.pipe.schema import STAGES, json_schema
from grasp_cli.pipe.validation import Validator
from grasp_cli.readers.stage import Answering
from tests.compression.fakes import compressor
from tests.readers.test_stage import Counting

ASKED = {
    "id": "1",
    "question": "Who was born in Leith?",
    "answers": ["Ada"],
    "evidence_gold": [{"id": "a", "start": 0, "end": 22}, {"id": "b"}],
    "mine": {"any": 1},
}
RETRIEVED = {
    **ASKED,
    "contexts": [
        {"id": "a", "doc_id": None, "start": None, "end": None, "title": "Ada",
         "text": "Ada was born in Leith. She died in Oslo.", "score": 0.5, "rank": 1, "x": 1},
        {"id": "b", "title": "", "text": "Bo was born in Oslo.", "score": 0, "rank": 2},
    ],
}  # fmt: skip


def compressed() -> dict[str, Any]:
    (found,) = compressor(COMPRESS).process([RETRIEVED])
    assert isinstance(found, dict)
    return found


def answered(compare: bool = False) -> dict[str, Any]:
    found = Answering(Counting(), "strict", compare, print)(compressed())
    assert isinstance(found, dict)
    return found


def faults(stage: str, *records: Any) -> list[tuple[str, str]]:
    validator = Validator(stage)
    return [
        (fault.path, fault.what)
        for number, record in enumerate(records, start=1)
        for fault in validator.faults(record, f"f:{number}")
    ]


@pytest.mark.parametrize(
    ("stage", "made"),
    [
        ("document", lambda: {"id": "d", "text": "x", "title": None, "mine": 1}),
        ("question", lambda: ASKED),
        ("question", lambda: RETRIEVED),
        ("retrieve", lambda: RETRIEVED),
        ("compress", compressed),
        ("answer", answered),
        ("answer", lambda: answered(compare=True)),
        ("evaluate", lambda: Evaluation("run").add(answered())),
    ],
)
def test_what_the_stages_write_is_what_the_schema_says(
    stage: str, made: Callable[[], dict[str, Any]]
) -> None:
    record = made()
    assert faults(stage, json.loads(json.dumps(record))) == []
    if stage not in ("document", "question"):
        failed = settle(record, TooSlow("no answer"), "answer", Tally())
        assert faults(stage, failed) == []
        bare = {"id": "1", "question": "q", "error": failed["error"]}
        assert faults(stage, bare) == []


def test_the_example_is_compressed_and_scored() -> None:
    assert compressed()["evidence"]
    assert Evaluation("run").add(answered())["scores"]


def broken(stage: str, change: Callable[[Any], object]) -> list[tuple[str, str]]:
    made: dict[str, Callable[[], Any]] = {"answer": answered, "compress": compressed}
    record = copy.deepcopy(made[stage]() if stage in made else RETRIEVED)
    change(record)
    return faults(stage, record)


@pytest.mark.parametrize(
    ("stage", "change", "path", "what"),
    [
        ("retrieve", lambda r: r.pop("id"), "id", "is missing"),
        ("retrieve", lambda r: r.update(id=""), "id", "at least 1 character"),
        ("retrieve", lambda r: r.update(id=7), "id", "should be a valid string, not 7"),
        ("retrieve", lambda r: r.pop("contexts"), "contexts", "is missing"),
        ("retrieve", lambda r: r["contexts"][1].pop("text"), "contexts[1].text", "is missing"),
        ("retrieve", lambda r: r["contexts"][0].update(rank=0), "contexts[0].rank", "greater"),
        ("retrieve", lambda r: r["contexts"][0].update(rank=True), "contexts[0].rank", "integer"),
        ("retrieve", lambda r: r["contexts"][0].update(score="1"), "contexts[0].score", "number"),
        (
            "retrieve",
            lambda r: r["evidence_gold"][0].update(start=-1),
            "evidence_gold[0].start",
            "",
        ),
        ("retrieve", lambda r: r.update(answers=[1]), "answers[0]", "string"),
        ("retrieve", lambda r: r.update(error={"stage": "x"}), "error.type", "is missing"),
        ("retrieve", lambda r: r["contexts"][1].update(id="a"), "contexts", "share an id"),
        ("compress", lambda r: r.pop("context"), "context", "is missing"),
        ("compress", lambda r: r["compression"].pop("removed"), "compression.removed", "missing"),
        ("compress", lambda r: r["evidence"][0].update(end="9"), "evidence[0].end", "integer"),
        ("compress", lambda r: r["evidence"][0].update(start=1), "evidence[0].text", "is not cont"),
        ("compress", lambda r: r["evidence"][0].update(context="z"), "evidence[0].context", "no c"),
        ("answer", lambda r: r.pop("answer"), "answer", "is missing"),
        ("answer", lambda r: r["reader"].pop("model"), "reader.model", "is missing"),
        ("answer", lambda r: r.update(saved={"tokens": 1.5, "seconds": 1}), "saved.tokens", "int"),
    ],
)
def test_faults_say_where_and_what(
    stage: str, change: Callable[[Any], object], path: str, what: str
) -> None:
    found = broken(stage, change)
    assert [fault for fault in found if fault[0] == path and what in fault[1]], found


@pytest.mark.parametrize("value", [[], "text", 3, None])
def test_a_line_that_is_no_object(value: Any) -> None:
    assert [path for path, _ in faults("compress", value)] == ["the record"]


def test_an_id_may_come_once() -> None:
    assert faults("question", ASKED, {**ASKED, "id": "2"}, ASKED) == [
        ("id", "'1' was used before, at f:1")
    ]


@pytest.mark.parametrize("stage", STAGES)
def test_schemas(stage: str) -> None:
    done = CliRunner().invoke(app, ["schema", stage])
    schema = json.loads(done.stdout)
    assert schema == json_schema(stage)
    assert schema["$schema"].endswith("2020-12/schema")
    names = set(schema.get("$defs", {}))
    assert {ref.rpartition("/")[2] for ref in references(schema)} <= names


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [ref for item in value.values() for ref in references(item)]
    return [ref for item in value for ref in references(item)] if isinstance(value, list) else []


def test_every_stage_has_a_name_on_the_command_line() -> None:
    assert {stage.value for stage in SchemaStage} == set(STAGES)


def validate(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["validate", *arguments])


def test_validate_prints_the_first_faults(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    good = json.dumps(RETRIEVED)
    file.write_text(good + "\n\n{not JSON\n" + '{"id": "2"}\n' * 3)
    done = validate(str(file), "--stage", "retrieve", "--first", "3")
    assert isinstance(done.exception, DataError)
    assert done.exception.exit_code == 4
    assert "4 of 5 records" in str(done.exception)
    shown = done.stdout.splitlines()
    assert len(shown) == 3
    assert shown[0].startswith(f"{file}:3: the line: ")
    assert shown[1:] == [
        f"{file}:4: question: is missing",
        f"{file}:4: contexts: is missing",
    ]


def test_validate_accepts_what_is_right(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(RETRIEVED) + "\n")
    done = validate(str(file), "--stage", "retrieve")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "1 records, all" in done.stderr


def test_validate_refuses_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    assert isinstance(validate(str(tmp_path / "r.jsonl")).exception, DataError)
    assert validate(str(tmp_path / "r.jsonl"), "--allow-empty").exit_code == 0
