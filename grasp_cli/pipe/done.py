"""Which records a file already holds, as digests of 16 bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import orjson

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import Record

_ID_FIRST = re.compile(rb'\{"id":"([^"\\]+)"')
_ERROR = b'"error":'


def digest(key: str | bytes) -> bytes:
    """Tells ids apart; a string counts as its UTF-8."""
    data = key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest()


def read_key(line: bytes, where: str) -> tuple[bytes, Any]:
    """The digest of a record's id and its error (None without one); `DataError` for no record."""
    if _ERROR not in line and (found := _ID_FIRST.match(line)):
        return digest(found[1]), None  # most lines: ten times faster than to parse them
    try:
        record = orjson.loads(line)
        return digest(record["id"]), record.get("error")
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        raise DataError(
            f"{where}: not a record of a grasp stage; is it the right file? (A run without "
            "--resume begins anew.)"
        ) from None


class Done:
    """The ids of the lines noted so far; of two lines with one id the later counts."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._settled: set[bytes] = set()
        self._again: dict[bytes, bool] = {}  # id with a retryable error -> of this stage
        self._failed = 0  # not retryable, of this stage
        self.replaced: set[bytes] = set()  # ids that more than one line holds

    def __len__(self) -> int:
        return len(self._settled) + len(self._again)

    @property
    def failed(self) -> int:
        """Records that carry an error of this stage."""
        return self._failed + sum(self._again.values())

    def note(self, line: bytes, where: str) -> None:
        """Take in one line of a file; `DataError` where that is no record."""
        self.take(*read_key(line, where))

    def take(self, key: bytes, error: Any) -> None:
        """Take in one record by its id's digest and its error."""
        own = isinstance(error, dict) and error.get("stage") == self._stage
        if key in self._settled or self._again.pop(key, None) is not None:
            self.replaced.add(key)
        if isinstance(error, dict) and error.get("retryable"):
            self._settled.discard(key)
            self._again[key] = own
        else:
            self._settled.add(key)
            self._failed += own

    def holds(self, record: Record) -> bool:
        """Whether there is nothing to do for an input record.

        One with a retryable error is done again, unless the input still has an error itself.
        """
        key = digest(record["id"])
        return key in self._settled or (key in self._again and "error" in record)

    def knows(self, key: str) -> bool:
        """Whether a record with this id is there."""
        found = digest(key)
        return found in self._settled or found in self._again


def each_once(
    read: Callable[[], Iterable[bytes]], replaced: set[bytes], store: BinaryIO
) -> Iterator[bytes]:
    """The lines that `read` gives, each record once: where it first stood, as it was last written.

    `replaced` are the ids with several lines; `store` is an empty file for the later ones.
    """
    seen: set[bytes] = set()
    last: dict[bytes, int] = {}  # id -> where its last line is in the store
    for line in read():
        key, _ = read_key(line, "")
        if key in seen:
            last[key] = store.tell()
            store.write(line + b"\n")
        elif key in replaced:
            seen.add(key)
    for line in read():
        key, _ = read_key(line, "")
        if key not in replaced:
            yield line
        elif (place := last.pop(key, None)) is not None:
            store.seek(place)
            yield store.readline()[:-1]
