"""The awkward inputs, through the real command and the embedded models."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from grasp_cli.cli import compress_options as options
from grasp_cli.compression.methods import METHODS
from grasp_cli.text import SPLITTERS
from tests.conftest import Run, lines


def record(name: str, question: str, *texts: str, **keys: Any) -> dict[str, Any]:
    contexts = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    return {"id": name, "question": question, "contexts": contexts, **keys}


FENCE = "```yaml\nserver:\n  port: 8080. # not the end\n```"
TABLE = "| key | value |\n|---|---|\n| port | 8080 |"
WORDS = " ".join(f"word{number}" for number in range(4000))
CASES = [
    record("no contexts", "Who won?"),
    record(
        "order of reading",
        "Where was the architect of the Marston bridge born?",
        "The Marston bridge was designed by Ada Kerr. It crosses the Tove. "
        "Ada Kerr was born in Leith.",
    ),
    {
        "id": "same sentence",
        "question": "When did the museum open?",
        "contexts": [
            {"id": "a", "title": "Old Museum", "text": "It opened in 1911. It has a red roof."},
            {"id": "b", "title": "New Museum", "text": "It opened in 1911. It has a glass roof."},
        ],
    },
    record(
        "crlf",
        "What is on the menu?",
        "Opening hours:\tnine to five.\r\nThe menu has soup 🍜 and bread.\r\nDogs are welcome.",
    ),
    record(
        "chinese",
        "水库哪一年建成？",
        "水库位于山谷之中。它于1958年建成。附近有一座古庙！游客很多吗？",
    ),
    record(
        "fence and table",
        "How is the port set?",
        f"Set the port as follows.\n\n{FENCE}\n\n{TABLE}\n\nRestart it.",
    ),
    record("no punctuation", "Which word is last?", WORDS),
    record("long question", "why " * 4000, "The river froze."),
    record("empty question", "  ", "The river froze."),
    {
        "id": "unknown keys",
        "question": "What froze?",
        "meta": {"k": [1, None]},
        "contexts": [{"id": "a", "text": "The river froze.", "url": "u", "score": None}],
    },
    {"id": "strings", "question": "What froze?", "contexts": ["The river froze.", "The sun rose."]},
]


def jsonl(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All cases with default options in one process; the exit code under ''."""
    import subprocess

    from tests.conftest import GRASP

    done = subprocess.run(
        [*GRASP, "compress"],
        input=jsonl(*CASES).encode(),
        capture_output=True,
        cwd=tmp_path_factory.mktemp("compress"),
        timeout=300,
    )
    out = lines(done.stdout.decode())
    assert [item["id"] for item in out] == [item["id"] for item in CASES], done.stderr.decode()
    return {"": done.returncode, **{item["id"]: item for item in out}}


@pytest.mark.models
def test_no_contexts_is_said(outcomes: dict[str, Any]) -> None:
    out = outcomes["no contexts"]
    assert (out["context"], out["compression"]["fallback"]) == ("", "no-input")


@pytest.mark.models
def test_kept_text_is_verbatim_and_in_document_order(outcomes: dict[str, Any]) -> None:
    for case in CASES:
        out = outcomes[case["id"]]
        if "error" in out:
            continue
        texts = {context["id"]: context["text"] for context in out["contexts"]}
        for item in out["evidence"]:
            assert item["text"] == texts[item["context"]][item["start"] : item["end"]]
        for before, after in pairwise(out["evidence"]):
            if before["context"] == after["context"]:
                assert before["end"] <= after["start"]


@pytest.mark.models
def test_each_occurrence_is_credited_to_its_own_document(outcomes: dict[str, Any]) -> None:
    kept = [i["context"] for i in outcomes["same sentence"]["evidence"] if "1911" in i["text"]]
    assert kept == ["a", "b"]
    assert outcomes["same sentence"]["context"].startswith("Old Museum\nIt opened in 1911.")


@pytest.mark.models
def test_offsets_count_crlf_and_emoji_as_they_came(outcomes: dict[str, Any]) -> None:
    assert "The menu has soup 🍜 and bread." in outcomes["crlf"]["context"]


@pytest.mark.models
def test_chinese_is_split_at_its_own_terminators(outcomes: dict[str, Any]) -> None:
    out = outcomes["chinese"]
    assert out["compression"]["sentences"] == 4
    assert all(item["text"][-1] in "。！？" for item in out["evidence"])


@pytest.mark.models
def test_a_fence_and_a_table_are_whole_or_absent(outcomes: dict[str, Any]) -> None:
    context = outcomes["fence and table"]["context"]
    assert ("port: 8080" in context) == (FENCE in context)
    assert ("| port" in context) == (TABLE in context)


@pytest.mark.models
def test_a_text_without_a_full_stop_is_read_whole(outcomes: dict[str, Any]) -> None:
    said = outcomes["no punctuation"]["compression"]
    assert said["sentences"] == 1 and "truncated" not in said and said["removed"] == 0


@pytest.mark.models
def test_an_empty_question_is_an_error_of_its_record(outcomes: dict[str, Any]) -> None:
    assert outcomes["empty question"]["error"]["type"] == "EmptyQuestion"
    assert outcomes[""] == 7


@pytest.mark.models
def test_a_question_beyond_the_window_is_an_error_of_its_record(grasp: Run) -> None:
    roles = ("--coarse-model", "--embedder", "--classifier")
    base = [part for role in roles for part in (role, "all-MiniLM-L6-v2")]
    done = grasp("compress", *base, stdin=jsonl(CASES[7], CASES[0]))
    assert done.returncode == 7
    error = lines(done.stdout)[0]["error"]
    assert error["type"] == "QuestionTooLong" and "4000 tokens" in error["message"]
    assert "510" in error["message"] and error["stage"] == "compress"


@pytest.mark.models
def test_unknown_keys_and_bare_strings(outcomes: dict[str, Any]) -> None:
    out = outcomes["unknown keys"]
    assert out["meta"] == {"k": [1, None]}
    assert out["contexts"] == CASES[-2]["contexts"]
    assert [context["id"] for context in outcomes["strings"]["contexts"]] == ["0", "1"]


@pytest.mark.models
def test_nothing_relevant_is_never_silently_empty(grasp: Run) -> None:
    text = jsonl(
        record("1", "Who founded the bakery?", "The river froze in January. Ice covered the port.")
    )
    kept = lines(grasp("compress", "--fine-threshold", "1.0", stdin=text).stdout)[0]
    assert kept["compression"]["fallback"] == "keep-best" and kept["context"]
    empty = lines(
        grasp("compress", "--fine-threshold", "1.0", "--on-empty", "empty", stdin=text).stdout
    )[0]
    assert empty["compression"]["fallback"] == "empty" and empty["context"] == ""


@pytest.mark.models
def test_budget_redundancy_and_ratio_cases(grasp: Run) -> None:
    revenue = record(
        "years",
        "What was the revenue in 2020 and 2021?",
        "Revenue was 5M in 2020. Revenue was 5M in 2021. The office moved.",
    )
    treaty = record(
        "treaty",
        "What does the treaty say about fishing?",
        "The treaty, signed after eleven years of talks between the four coastal states and "
        "ratified by all of them before the end of the decade, says that fishing is banned north "
        "of the line. It was amended twice.",
    )
    froze = record("half", "What froze?", "The river froze in January.")
    done = grasp(
        "compress", "--redundancy", "--max-tokens", "20", "--coarse-ratio", "0.5",
        "--quitox-min-keep", "1", stdin=jsonl(treaty, froze),
    )  # fmt: skip
    budgeted, half = lines(done.stdout)
    assert budgeted["compression"]["tokens_out"] <= 20 and budgeted["context"]
    assert budgeted["compression"]["truncated"] > 0
    assert half["context"] == "The river froze in January."
    (years,) = lines(grasp("compress", "--redundancy", stdin=jsonl(revenue)).stdout)
    assert "2020" in years["context"] and "2021" in years["context"]


@pytest.mark.models
def test_the_window_changes_not_a_byte(grasp: Run) -> None:
    text = jsonl(*(case for case in CASES if case["id"] not in ("no punctuation", "long question")))

    def output(window: str, dtype: str) -> list[Any]:
        done = grasp("compress", "--window", window, "--dtype", dtype, stdin=text)
        found = lines(done.stdout)
        for item in found:
            item.get("compression", {}).pop("seconds", None)
        return found

    assert output("1", "float32") == output("32", "float32")
    assert output("1", "bfloat16") == output("3", "bfloat16")


def test_a_missing_model_is_exit_3_with_the_command(grasp: Run) -> None:
    done = grasp("compress", "--profile", "paper", stdin=jsonl(CASES[1]), HF_HOME="nowhere")
    assert done.returncode == 3 and done.stdout == ""
    for model in ("google/flan-t5-small", "doubleyyh/exit-gemma-2b", "google/gemma-2b-it"):
        line = next(line for line in done.stderr.splitlines() if model in line)
        assert line.endswith("grasp models --get paper")
    assert done.stderr.count("\n") == 3


def test_lead_takes_the_first_sentences_and_none_everything(grasp: Run) -> None:
    (lead,) = lines(grasp("compress", "--method", "lead", stdin=jsonl(CASES[2])).stdout)
    assert lead["context"] == ("Old Museum\nIt opened in 1911.\n\nNew Museum\nIt opened in 1911.")
    (none,) = lines(grasp("compress", "--method", "none", stdin=jsonl(CASES[2])).stdout)
    assert none["compression"]["removed"] == 0
    assert none["compression"]["tokens_out"] == none["compression"]["tokens_in"]


def test_the_choices_of_the_command_line_are_those_of_the_tables() -> None:
    assert [item.value for item in options.MethodName] == list(METHODS)
    assert [item.value for item in options.Splitter] == list(SPLITTERS)
