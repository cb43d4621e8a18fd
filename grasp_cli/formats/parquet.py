"""Parquet, a document a row, through pyarrow (the extra `parquet`).

Columns other than id, title and text become keys of the document: dates and times as ISO 8601,
decimal numbers as strings; columns of bytes are left out.
"""

from __future__ import annotations

import datetime
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grasp_cli.formats.columns import KEYS, named
from grasp_cli.pipe.errors import DataError, MissingError
from grasp_cli.pipe.records import Record, to_document
from grasp_cli.pipe.sources import STDIN, open_binary

PARQUET_EXTRA = "pip install 'grasp-cli[parquet]'"
_BATCH = 1024
_NO_TEXT = "rows have no text: kept as empty documents"
_BINARY = ("binary", "large_binary", "fixed_size_binary", "dictionary<values=binary")
_ROW_NUMBERS = "__index_level_"


class Parquet:
    """One document a row."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.notes: Counter[str] = Counter()
        self._columns = columns
        self._count = 0  # rows so far, over all files

    def documents(self, path: Path) -> Iterator[Record]:
        """Documents in the order of the file, read in batches of rows.

        Raises `MissingError` without pyarrow, `DataError` for what is no Parquet.
        """
        arrow, parquet = _pyarrow()
        name = "stdin" if path == STDIN else str(path)
        with open_binary(path) as stream:
            source = io.BytesIO(stream.read()) if path == STDIN else stream
            try:
                file = parquet.ParquetFile(source)
                keys = self._keys(file.schema_arrow, name)
                for batch in file.iter_batches(_BATCH, columns=list(keys)):
                    yield from self._batch(batch, keys, name)
            except (arrow.ArrowException, OSError) as error:
                first = str(error).splitlines()[0]
                raise DataError(f"{name}: cannot be read as Parquet: {first}") from None

    def _keys(self, schema: Any, name: str) -> dict[str, str]:
        """Columns and their names in the document, without bytes and pandas' row numbers."""
        columns = [column for column in schema.names if not column.startswith(_ROW_NUMBERS)]
        keys = named(columns, self._columns, name)
        binary = {column for column in keys if _holds_bytes(schema.field(column).type)}
        for column in binary:
            if keys[column] in KEYS:
                raise DataError(f'{name}: the column "{column}" holds bytes, not strings')
            self.notes[f'column "{column}" of bytes: left out'] += 1
        return {column: key for column, key in keys.items() if column not in binary}

    def _batch(self, batch: Any, keys: dict[str, str], name: str) -> Iterator[Record]:
        for row in batch.to_pylist():
            self._count += 1
            document = {keys[column]: _plain(value) for column, value in row.items()}
            if document["text"] is None:
                self.notes[_NO_TEXT] += 1
                document["text"] = ""
            yield to_document(document, f"{name}, row {self._count}", self._count)


def _holds_bytes(kind: Any) -> bool:
    """Whether values of the type `kind` are bytes, or lists or objects with bytes in them."""
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    return str(kind).startswith(_BINARY) or any(map(_holds_bytes, inner))


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has no word for becomes its usual string."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return str(value)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingError(f"reading Parquet needs the package pyarrow: {PARQUET_EXTRA}") from None
    return pyarrow, pyarrow.parquet
