"""One line of JSON to a value and back, exactly.

orjson does the work. It would read an integer beyond 64 bits as a float; such lines go through
the standard library, whose integers have no limit, so that no value changes in silence.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from grasp_cli.pipe.errors import DataError

_LONG_INTEGER = re.compile(rb"\d{19}")
_NOT_A_NUMBER = re.compile(rb"(?<![\w\"])-?(NaN|Infinity)\b")
_DEEPEST = 200
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(rb"[\[{\]}]")
_START_SHOWN = 60


def loads(line: bytes, where: str) -> Any:
    """Parse one line; `where` ("file:line") is named in the error."""
    try:
        value = orjson.loads(line)  # the stricter parser decides what is JSON
    except orjson.JSONDecodeError as error:
        raise DataError(_explain(line, where, error)) from None
    _refuse_deep(line, where)
    return json.loads(line) if _LONG_INTEGER.search(line) else value


def dumps(value: Any) -> bytes:
    """Serialise to one line, without the newline."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        ).encode()


def _refuse_deep(line: bytes, where: str) -> None:
    """What is read must be writable, and writers follow only so many brackets into each other."""
    if line.count(b"[") + line.count(b"{") <= _DEEPEST:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        if depth > _DEEPEST:
            raise DataError(f"{where}: objects and lists more than {_DEEPEST} deep in each other")


def _explain(line: bytes, where: str, error: orjson.JSONDecodeError) -> str:
    start = line[:_START_SHOWN].decode("utf-8", "replace").strip()
    dots = " …" if len(line.strip()) > _START_SHOWN else ""
    column = error.colno
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{where}:1: this is UTF-16; grasp reads UTF-8: iconv -f utf-16 -t utf-8 FILE"
    if found := _NOT_A_NUMBER.search(line):
        name, column = found.group(1).decode(), found.start() + 1
        return (
            f"{where}:{column}: {name} is not JSON: write null or leave the key out: {start}{dots}"
        )
    return f"{where}:{column}: not JSON ({error.msg}): {start}{dots}"
