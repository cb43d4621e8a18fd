"""What grasp says on stderr: whole lines, as text or as JSON, from one place for all stages.

Each line is one write, so that the stages of a pipe, which share a terminal, never mix within a
line. A bar (`pipe.progress`) stands below the lines of its own process; the lines of other stages
wipe it, and it is drawn again underneath. Secrets are masked, and control characters of data that
a message quotes are shown as escapes.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from grasp_cli.pipe.masking import masked

WIPE = "\r\x1b[2K"  # to the start of the line, and erase it
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Log:
    """Lines on stderr. `start` says for which stage and how; `bar` redraws what stands below."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # whoever holds it has the terminal
        self.bar: Callable[[], None] | None = None
        self.start("")

    def start(
        self,
        stage: str,
        *,
        quiet: bool = False,
        as_json: bool = False,
        progress: bool | None = None,
    ) -> None:
        """Speak for `stage` from now on; `progress` is what was asked for (None: as it fits)."""
        self.stage, self.quiet, self.as_json, self.progress = stage, quiet, as_json, progress

    def say(self, message: str, level: str = "info", **facts: Any) -> None:
        """One line, unless quiet; `facts` are further keys of the JSON form."""
        if not self.quiet or level == "error":
            self._write(self._formed(masked(message), level, facts))

    def error(self, message: str, **facts: Any) -> None:
        """One line, also where nothing else is to be said."""
        self.say(message, "error", **facts)

    def _formed(self, message: str, level: str, facts: dict[str, Any]) -> str:
        if not self.as_json:
            name = "grasp" if level == "error" or not self.stage else f"grasp {self.stage}"
            return f"{name}: {_shown(message)}\n"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        told = {"time": now, "level": level, "stage": self.stage, "message": message, **facts}
        return json.dumps(told, ensure_ascii=False) + "\n"

    def _write(self, line: str) -> None:
        with self.lock:
            put((WIPE if self.bar or shares_terminal() else "") + line)
            if self.bar:
                self.bar()


LOG = Log()


def put(text: str) -> None:
    """Write to stderr at once; where nobody listens any more, nothing happens."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # gone, closed, or never there
        pass


def watched() -> bool:
    """Whether a person looks at stderr, on a terminal that can erase a line."""
    return is_terminal(sys.stderr) and os.environ.get("TERM", "") not in ("dumb", "")


def piped_on() -> bool:
    """Whether standard output is a pipe (or a socket) into something else."""
    try:
        kind = os.fstat(1).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


def shares_terminal() -> bool:
    """Whether another stage of the pipe may have a bar on our terminal."""
    return piped_on() and watched()


def is_terminal(stream: object) -> bool:
    """Whether a person looks at this stream."""
    try:
        return bool(getattr(stream, "isatty", lambda: False)())
    except ValueError:  # closed
        return False


def hush_libraries() -> None:
    """No bars of libraries; their warnings and log lines become lines of ours."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    warnings.showwarning = _say_warning
    root = logging.getLogger()
    if not any(isinstance(handler, _Handler) for handler in root.handlers):
        root.addHandler(_Handler(logging.WARNING))


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    text = " ".join(str(message).split())
    LOG.say(f"{category.__name__}: {text} ({filename}:{lineno})", "warning")


class _Handler(logging.Handler):
    """Says the log records of libraries through `LOG`."""

    def emit(self, record: logging.LogRecord) -> None:
        LOG.say(f"{record.name}: {' '.join(record.getMessage().split())}", "warning")


def _shown(message: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", message)
