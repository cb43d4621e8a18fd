"""Read the JSON objects of a file one by one, however the file is laid out.

Foreign datasets come as one array, as lines, as objects one after another, indented or not. All
are read through the same growing buffer, so that an array of a gigabyte needs the memory of its
largest object.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import orjson

from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, damage_explained, open_binary

_CHUNK = 1 << 16
_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_START_SHOWN = 60


def read_objects(path: Path) -> Iterator[tuple[str, Record]]:
    """Every object of a JSON array or of JSON lines, with the "file:line" where it starts.

    Compressed files and standard input ("-") as in `pipe.sources`. Raises `DataError` for what is
    no JSON, no object, not UTF-8, or ends too early.
    """
    name = "stdin" if path == STDIN else str(path)
    with (
        open_binary(path) as raw,
        damage_explained(path),
        io.TextIOWrapper(raw, encoding="utf-8-sig") as stream,
    ):
        try:
            yield from _objects(_Buffer(stream, name))
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: not UTF-8 ({error.reason}); grasp reads UTF-8") from None


def _objects(buffer: _Buffer) -> Iterator[tuple[str, Record]]:
    if buffer.next_character() != "[":
        while buffer.next_character():
            yield buffer.take_object()
        return
    buffer.skip()
    comma = False
    while (character := buffer.next_character()) != "]":
        if comma:
            buffer.expect(character == ",", 'expected "," or "]"')
            buffer.skip()
        yield buffer.take_object()
        comma = True
    buffer.skip()
    buffer.expect(buffer.next_character() == "", "text after the end of the array")


class _Buffer:
    """The text read and not yet used, and the line that it starts on."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._text = ""
        self._at = 0
        self._line = 1
        self._dropped = 0  # characters of the first line that are no longer in the text
        self._decoder = json.JSONDecoder(parse_constant=self._refuse_constant)

    def next_character(self) -> str:
        """The next character that is not blank, not taken yet; "" at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._advance(found.end() if found else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Take one character."""
        self._advance(self._at + 1)

    def take_object(self) -> tuple[str, Record]:
        """Where the next object starts, and the object."""
        self.expect(self.next_character() == "{", "expected an object")
        where = f"{self._name}:{self._line}"
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                break
            except json.JSONDecodeError as error:
                self._refuse_too_long()
                if not self._read_more():  # then it is not merely incomplete
                    raise self._error(error.msg, error.pos) from None
        self._refuse_lone_surrogate(end)
        self._advance(end)
        return where, value

    def expect(self, condition: bool, message: str) -> None:
        """Raise `DataError` for the current place unless `condition` holds."""
        if not condition:
            raise self._error(message, self._at)

    def _advance(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _read_more(self) -> bool:
        """Double what is there, so that a long object is parsed few times."""
        more = self._stream.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._dropped = self._column(self._at)
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _column(self, position: int) -> int:
        """Characters that stand before `position` on its line."""
        newline = self._text.rfind("\n", 0, position)
        return position - newline - 1 + (self._dropped if newline < 0 else 0)

    def _refuse_too_long(self) -> None:
        if len(self._text) - self._at > LIMITS.line_bytes:
            raise DataError(
                f"{self._name}:{self._line}: the object that starts here is longer than "
                f"{LIMITS.line_mb} MB (--max-line-mb allows more)"
            )

    def _refuse_constant(self, name: str) -> float:
        raise DataError(
            f"{self._name}:{self._line}: {name} is not JSON: write null or leave the key out"
        )

    def _refuse_lone_surrogate(self, end: int) -> None:
        if _SURROGATE.search(self._text, self._at, end):
            try:
                orjson.loads(self._text[self._at : end])
            except orjson.JSONDecodeError as error:
                raise self._error(error.msg, self._at) from None

    def _error(self, message: str, position: int) -> DataError:
        line = self._line + self._text.count("\n", self._at, position)
        column = self._column(position) + 1
        start = self._text[self._at : self._at + _START_SHOWN].split("\n")[0].strip()
        shown = f": {start}" if start else " at the end of the input"
        return DataError(f"{self._name}:{line}:{column}: not JSON ({message}){shown}")
