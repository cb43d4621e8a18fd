"""Answers kept on disk, so that a question that was asked before costs nothing.

One SQLite file in the cache's directory. It holds a SHA-256 of what was asked and the reply:
neither prompts, nor addresses, nor keys. SQLite's locks make it safe for several processes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import Reader, Reply

FILE = "answers.sqlite"
_FORMAT = 1  # PRAGMA user_version
_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, reply TEXT) WITHOUT ROWID"
_LOCK_SECONDS = 60.0  # another process holds the lock for milliseconds


class AnswerCache:
    """Replies by key, in `directory`; safe for threads.

    Raises `ProcessingError` where the directory or the file cannot be used. Trouble in the course
    of a run (a full disk) is said once to `say`, and answers then go unkept.
    """

    def __init__(self, directory: Path, say: Callable[[str], None]) -> None:
        self._file = directory / FILE
        self._say = say
        self._lock = threading.Lock()
        self._said = False
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                self._file, timeout=_LOCK_SECONDS, check_same_thread=False, isolation_level=None
            )
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise ProcessingError(
                f"--cache {directory}: cannot be used ({error}); name another directory, or "
                f"delete {self._file} if it is damaged"
            ) from None

    def get(self, key: str) -> Reply | None:
        """The reply kept under `key`, marked as cached."""
        with self._lock:
            try:
                row = self._base.execute(
                    "SELECT reply FROM answers WHERE key = ?", (key,)
                ).fetchone()
            except sqlite3.Error as error:
                self._tell(error)
                return None
        return replace(Reply(**json.loads(row[0])), cached=True) if row else None

    def put(self, key: str, reply: Reply) -> None:
        """Keep `reply`, unless one is there."""
        with self._lock:
            try:
                self._base.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, json.dumps(asdict(reply)))
                )
            except sqlite3.Error as error:
                self._tell(error)

    def _prepare(self) -> None:
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if version == _FORMAT:
            return
        if version != 0:
            raise sqlite3.DatabaseError(f"made by another version of grasp (format {version})")
        self._base.execute(_TABLE)
        self._base.execute(f"PRAGMA user_version = {_FORMAT}")

    def _tell(self, error: sqlite3.Error) -> None:
        if not self._said:
            self._said = True
            self._say(f"{self._file}: {error}; answers are not kept from here on (said once)")


class CachedReader:
    """Asks `reader` only what the cache does not hold.

    Failures are not kept, nor answers to a context that was cut: whoever allows a longer one must
    not get the old answer.
    """

    def __init__(self, reader: Reader, cache: AnswerCache) -> None:
        self.name = reader.name
        self.model = reader.model
        self._reader = reader
        self._cache = cache

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """As `reader` has it."""
        return self._reader.request(prompt)

    def answer(self, prompt: Prompt) -> Reply:
        """The kept answer, else a new one."""
        key = key_of(self.name, self.request(prompt))
        reply = self._cache.get(key)
        if reply is None:
            reply = self._reader.answer(prompt)
            if not reply.truncated:
                self._cache.put(key, reply)
        return reply


def key_of(kind: str, request: dict[str, Any]) -> str:
    """SHA-256 of a kind of reader and all that its answer depends on."""
    text = json.dumps([kind, request], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
