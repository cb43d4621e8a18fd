"""Which column of a table is a document's id, title or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import DOCUMENT_ALIASES

KEYS = ("id", "title", "text")


def named(columns: Sequence[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    """The name in the document of each column that is kept, in their order.

    `given` maps keys (`id`, `title`, `text`) to columns; others are found by their usual names,
    whatever the case. Columns without a name are left out, and so is one whose name is given to
    another. Raises `DataError` where two columns have one name, or none is the text.
    """
    filled = [column for column in columns if column]
    twice = next((column for column in filled if filled.count(column) > 1), None)
    if twice is not None:
        raise DataError(f'{where}: two columns are called "{twice}"; rename one of them')
    chosen = {_column(key, filled, given, where): key for key in KEYS}
    return {
        column: chosen.get(column, column)
        for column in filled
        if column in chosen or column not in chosen.values()
    }


def parse_columns(pairs: Sequence[str]) -> dict[str, str]:
    """ "text=body" and the like as key → column; `UsageError` for what is none."""
    columns = {}
    for pair in pairs:
        key, _, column = pair.partition("=")
        if key not in KEYS or not column:
            raise UsageError(
                f"--column {pair}: write KEY=COLUMN with a KEY of {', '.join(KEYS)}, "
                "as in text=body"
            )
        columns[key] = column
    return columns


def _column(key: str, columns: Sequence[str], given: Mapping[str, str], where: str) -> str | None:
    shown = ", ".join(columns) or "none"
    if key in given:
        if given[key] in columns:
            return given[key]
        raise DataError(f'{where}: there is no column "{given[key]}"; its columns: {shown}')
    free = [column for column in columns if column not in given.values()]
    names = (key, *DOCUMENT_ALIASES.get(key, ()))
    exact = (name for name in names if name in free)
    alike = (column for name in names for column in free if column.lower() == name)
    found = next(exact, None) or next(alike, None)
    if found is None and key == "text":
        raise DataError(
            f"{where}: no column is called {' or '.join(names)}; its columns: {shown}; "
            "name the one with the text: --column text=COLUMN"
        )
    return found
