"""A key goes into requests and nowhere else, whatever a server says about it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Run
from tests.readers.servers import Said, openai_reply, serving

KEY, PASSWORD = "tiger-42-lily", "open-sesame-9"


def test_no_key_in_output_manifest_cache_or_log(grasp: Run, tmp_path: Path) -> None:
    """One question is answered, one refused by a server that repeats what it was sent."""
    (tmp_path / "in.jsonl").write_text(
        '{"id":"1","question":"Why?","context":"x"}\n{"id":"2","question":"Who?","context":"x"}\n'
    )

    def answer(path: str, body: object) -> Said:
        if "Who?" in json.dumps(body):
            return Said({"error": f"no: key {KEY}, http://me:{PASSWORD}@host"}, status=400)
        return Said(openai_reply("yes"))

    with serving(answer) as server:
        url = server.url.replace("http://", f"http://me:{PASSWORD}@") + "/v1"
        done = grasp(
            *("answer", "--reader", "openai", "--reader-model", "m", "--url", url),
            *("in.jsonl", "-o", "out.jsonl", "--cache", "cache", "--log-format", "json"),
            OPENAI_API_KEY=KEY,
        )
    assert done.returncode == 7, done.stderr
    first, second = (json.loads(line) for line in (tmp_path / "out.jsonl").open())
    assert first["answer"] == "yes" and "key ***" in second["error"]["message"]
    written = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"out.jsonl", "out.jsonl.manifest.json"} < set(written) and len(written) > 3
    for secret in (KEY, PASSWORD):
        assert secret not in done.stderr + done.stdout
        assert [name for name, data in written.items() if secret.encode() in data] == []
