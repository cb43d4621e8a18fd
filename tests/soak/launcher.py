"""Runs `grasp` many times in forked copies of one process, which has imported it already.

`python -m tests.soak.launcher` reads a request a line, `{"argv", "input", "stdout", "stderr", …}`,
and answers with two lines: `{"pid"}` when the run has begun, `{"code", "kilobytes"}` when it has
ended: its exit code, negative for a signal, and its largest resident size. A run with `aside` is
not waited for until `{"wait": PID}` asks. `Launcher` is the other end.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT


@dataclass
class Ran:
    """How a run ended."""

    code: int
    kilobytes: int
    stderr: str
    seconds: float


@dataclass
class Launcher:
    """Use as a context. `begin` starts a run, `end` waits for it or kills it after some time."""

    folder: Path
    _process: Any = None
    _began: float = 0.0
    _pid: int = 0
    _log: Path = field(default_factory=Path)

    def __enter__(self) -> Launcher:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
        )
        assert self._answer() == {"ready": True}
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(60)

    def begin(self, *argv: str | Path, **more: Any) -> int:
        """Start `grasp ARGV…`; gives its process id. `more` are further keys of the request."""
        self._log = self.folder / "stderr.txt"
        request = {"stderr": str(self._log), **more, "argv": list(map(str, argv))}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        self._pid, self._began = self._answer()["pid"], time.monotonic()
        return self._pid

    def end(self, kill_after: float | None = None) -> Ran:
        """Wait for the end; SIGKILL it after so many seconds, if it has not ended by then."""
        if kill_after is not None:
            left = kill_after - (time.monotonic() - self._began)
            if not select.select([self._process.stdout], [], [], max(0.0, left))[0]:
                os.kill(self._pid, 9)
        found = self._answer()
        seconds = time.monotonic() - self._began
        return Ran(found["code"], found["kilobytes"], self._log.read_text(), seconds)

    def aside(self, *argv: str | Path, **more: Any) -> int:
        """Begin a run that goes on beside others; gives its process id."""
        return self.begin(*argv, aside=True, stderr=str(self.folder / "aside.txt"), **more)

    def wait(self, pid: int) -> int:
        """The exit code of a run that was begun aside."""
        self._process.stdin.write(json.dumps({"wait": pid}).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._answer()["code"])

    def run(self, *argv: str | Path, **more: Any) -> Ran:
        """Begin and end."""
        self.begin(*argv, **more)
        return self.end()

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        assert line, "the launcher is gone"
        return json.loads(line)


def serve() -> None:
    """The loop of the launcher itself."""
    prepare()
    say({"ready": True})
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        child = request.get("wait") or os.fork()
        if child == 0:
            os._exit(grasp(request))
        if "wait" not in request:
            say({"pid": child})
        if request.get("aside"):
            continue
        _, status, used = os.wait4(child, 0)
        say({"code": os.waitstatus_to_exitcode(status), "kilobytes": used.ru_maxrss})


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def prepare() -> None:
    """Import what the runs need, and look models up, once; nothing that starts threads."""
    import grasp_cli.cli.main
    import grasp_cli.compression.methods
    import grasp_cli.readers.openai
    import grasp_cli.retrieval.writer  # noqa: F401
    from grasp_cli.models.locate import find_all
    from grasp_cli.models.profiles import model_for
    from grasp_cli.models.runtime import torch_runtime

    torch_runtime()
    find_all([model_for("embedded", "classifier")])


def grasp(request: dict[str, Any]) -> int:
    """One run, in the child; gives its exit code."""
    for number, name, flags in (
        (0, request.get("stdin", os.devnull), os.O_RDONLY),
        (1, request.get("stdout", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(name, flags), number)
    if limit := request.get("largest_file"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if request.get("clock_back"):
        _turn_clock_back()
    if request["argv"][0] == "index":
        _index_without_a_model()
    sys.argv = ["grasp", *request["argv"]]
    from grasp_cli.cli.main import main

    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _index_without_a_model() -> None:
    """Hashed words in place of an encoder, and small blocks, so that many can be interrupted."""
    from dataclasses import replace

    from grasp_cli.models import locate
    from grasp_cli.retrieval import model, writer
    from tests.retrieval.fakes import HashingEncoder

    class Slow(HashingEncoder):
        def embed(self, texts: Any) -> Any:
            time.sleep(0.004)
            return super().embed(texts)

    writer.INDEX = replace(writer.INDEX, window=20)  # type: ignore[misc]
    locate.find = lambda name_or_path: Path(name_or_path)  # type: ignore[assignment]
    model.weights_sha256 = lambda path: "0"  # type: ignore[assignment]
    model.load_encoder = lambda *_, **__: Slow()  # type: ignore[assignment]


def _turn_clock_back() -> None:
    """From now on the wall clock loses an hour whenever it is asked."""
    real, asked = time.time, [0]

    def back() -> float:
        asked[0] += 1
        return real() - 3600 * asked[0]

    time.time = back


if __name__ == "__main__":
    serve()
