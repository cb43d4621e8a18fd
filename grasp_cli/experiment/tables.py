"""Reading the tables of a TOML file: every key is known and of its kind, or the message says so."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from grasp_cli.pipe.errors import UsageError

Value = TypeVar("Value")
_KINDS = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; `UsageError` where it cannot be read or is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        return tables
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 ({error.reason})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None


def refuse_unknown(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """`UsageError` for the first name that is not known, with the nearest one that is."""
    choices = list(known)
    for name in names:
        if name not in choices:
            near = get_close_matches(name, choices, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(choices)}"
            raise UsageError(f'{where}: no key "{name}"; {hint}')


def refuse_near(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """`UsageError` for a name that is nearly, but not quite, one of the known."""
    choices = list(known)
    for name in names:
        near = get_close_matches(name, choices, n=1, cutoff=0.7)
        if near and name not in choices:
            raise UsageError(f'{where}: no key "{name}"; did you mean {near[0]}?')


class Table:
    """One table; a key may be written with - or _ between its words."""

    def __init__(self, values: Any, where: str, known: Iterable[str]) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where}: must be a table of keys and values")
        self.where = where
        self.values = {str(key).replace("_", "-"): value for key, value in values.items()}
        refuse_unknown(self.values, known, where)

    def get(self, key: str, kind: type[Value], default: Value | None = None) -> Value | None:
        """A value of its kind, or the default where the key is not there."""
        if key not in self.values:
            return default
        value = self.values[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"{self.where}: {key} must be {_KINDS[kind]}, not {value!r}")
        return value

    def need(self, key: str, kind: type[Value]) -> Value:
        """A value that must be there."""
        value = self.get(key, kind)
        if value is None:
            raise UsageError(f"{self.where}: {key} is missing")
        return value

    def count(self, key: str, default: int | None = None) -> int | None:
        """A whole number from 1."""
        value = self.get(key, int, default)
        if value is not None and value < 1:
            raise UsageError(f"{self.where}: {key} must be 1 or more, not {value}")
        return value
