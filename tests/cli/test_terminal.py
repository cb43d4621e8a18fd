"""What a person sees: stages in a real pseudo-terminal, whose bytes are drawn on a screen."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conftest import ROOT

COLUMNS = 90
NONE = "compress --method none"
BAR = re.compile(r"grasp compress [━╸╺ ]+ \d+ done.*")
LINE = re.compile(
    r"grasp compress: (\d+ done( of (about )?\d+)?(, [\d.]+/s)?(, [\w ]+ left)?"
    r"|(\d+) read, \6 written, [\d.]+ s)"
)


def record(number: int) -> bytes:
    found = {"id": str(number), "question": "What froze?", "contexts": [{"text": "Ice. " * 40}]}
    return json.dumps(found).encode() + b"\n"


class Screen:
    """A terminal that knows line ends, carriage returns, colours and erasing a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []  # those that were ended
        self.drawn: set[str] = set()  # whatever stood on the last line before it was erased
        self._line, self._at = "", 0

    def feed(self, text: str) -> None:
        for part in re.findall(r"\x1b\[[\d;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.lines.append(self._line)
                self._line, self._at = "", 0
            elif part == "\r":
                self._at = 0
            elif part == "\x1b[2K":
                self.drawn.add(self._line)
                self._line = ""
            elif not part.startswith("\x1b"):
                self._line = self._line[: self._at].ljust(self._at) + part
                self._at = len(self._line)

    @property
    def last(self) -> str:
        return self._line


def shown(
    stages: Sequence[str], enough: Callable[[str], bool], *, stdout_too: bool = False
) -> tuple[Screen, int]:
    """The screen after records went through, one now and then until what was seen is `enough`.

    Also gives how many those were.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.terminal_stages", " + ".join(stages)],
        stdin=subprocess.PIPE,
        stdout=follower if stdout_too else subprocess.DEVNULL,
        stderr=follower,
        cwd=ROOT,
        env=environment,
    )
    os.close(follower)
    seen = bytearray()
    watcher = threading.Thread(target=collect, args=(leader, seen))
    watcher.start()
    assert process.stdin
    count, end = 0, time.monotonic() + 120
    while not enough(seen.decode("utf-8", "replace")):
        assert time.monotonic() < end, seen.decode("utf-8", "replace")
        process.stdin.write(record(count))
        process.stdin.flush()
        count += 1
        time.sleep(0.03)
    process.stdin.close()
    assert process.wait(120) == 0, seen.decode()
    watcher.join(20)
    os.close(leader)
    screen = Screen()
    screen.feed(seen.decode())
    return screen, count


def collect(leader: int, seen: bytearray) -> None:
    try:
        while data := os.read(leader, 65536):
            seen.extend(data)
    except OSError:  # how a terminal ends
        pass


def test_three_stages_in_one_terminal_never_garble() -> None:
    def both(seen: str) -> bool:
        return seen.count("━") > 100 and seen.count("grasp compress: ") > 2

    screen, count = shown([NONE, NONE, NONE], both)
    bars = {line for line in screen.drawn if "━" in line}
    assert bars and all(BAR.fullmatch(bar) and len(bar) < COLUMNS for bar in bars), bars
    assert all(line in bars or line == "" for line in screen.drawn), screen.drawn
    assert screen.lines and all(LINE.fullmatch(line) for line in screen.lines), screen.lines
    assert sum(f"{count} written" in line for line in screen.lines) == 3
    assert sum(" done" in line for line in screen.lines) >= 2  # of the stages without a bar
    assert screen.last == ""


def test_records_on_the_terminal_stay_whole_beside_the_bar() -> None:
    screen, count = shown([NONE], lambda seen: seen.count("━") > 100, stdout_too=True)
    assert any("━" in line for line in screen.drawn)
    records = [json.loads(line) for line in screen.lines if line.startswith("{")]
    assert [each["id"] for each in records] == [str(number) for number in range(count)]
    others = [line for line in screen.lines if not line.startswith("{")]
    assert len(others) == 1 and f"{count} read, {count} written" in others[0]


def test_machines_get_lines_and_no_bar() -> None:
    screen, count = shown(
        [f"{NONE} --log-format json"], lambda seen: seen.count('"event": "progress"') > 1
    )
    assert not any("━" in line for line in [*screen.drawn, *screen.lines])
    told = [json.loads(line) for line in screen.lines]
    assert told[-1]["message"].startswith(f"{count} read, {count} written")


def test_the_rest_of_a_file_is_foretold_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(map(record, range(2000))))
    screen, _ = shown([f"{NONE} {path}"], lambda seen: True)
    told = [re.search(r" done of about (\d+), [\d.]+/s, .+ left", bar) for bar in screen.drawn]
    totals = [int(found[1]) for found in told if found]
    assert totals and all(1950 <= total <= 2050 for total in totals), screen.drawn
