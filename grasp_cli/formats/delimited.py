"""CSV and TSV with a line of headings, a document a row (RFC 4180; DPR's psgs_w100.tsv).

Fields with line breaks, the delimiter or quotes in them stand in double quotes, in TSV too. Cells
stay as they are written; columns other than id, title and text become keys of the document.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from grasp_cli.formats.columns import named
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.records import Record, to_document
from grasp_cli.pipe.sources import STDIN, damage_explained, open_binary


class CSV:
    """One document a row, fields between commas."""

    delimiter = ","

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.notes: Counter[str] = Counter()
        self._columns = columns
        self._count = 0  # rows so far, over all files

    def documents(self, path: Path) -> Iterator[Record]:
        """Documents in the order of the file; one without an id becomes `d<number>`."""
        name = "stdin" if path == STDIN else str(path)
        rows = _rows(path, name, self.delimiter)
        _, headings = next(rows, (1, []))
        headings = [heading.strip() for heading in headings]
        keys = named(headings, self._columns, name)
        for line, row in rows:
            where = f"{name}:{line}"
            if len(row) != len(headings):
                raise DataError(
                    f"{where}: {len(row)} fields where the headings are {len(headings)}; a field "
                    "with the delimiter or a line break in it needs double quotes"
                )
            self._count += 1
            cells = zip(headings, row, strict=True)
            document = {keys[heading]: value for heading, value in cells if heading in keys}
            yield to_document(document, where, self._count)


class TSV(CSV):
    """One document a row, fields between tabs."""

    delimiter = "\t"


def _rows(path: Path, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line that it begins on."""
    csv.field_size_limit(min(LIMITS.line_bytes, 2**31 - 1))  # the default refuses long documents
    with (
        open_binary(path) as raw,
        damage_explained(path),
        io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream,
    ):
        reader, line = csv.reader(_lines(stream, name), delimiter=delimiter, strict=True), 1
        try:
            for row in reader:
                if row:
                    yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(f"{name}:{line}: not {_KINDS[delimiter]} ({error})") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: not UTF-8 ({error.reason}); grasp reads UTF-8") from None


def _lines(stream: TextIO, name: str) -> Iterator[str]:
    """Lines with their ends, none longer than the limit."""
    most = LIMITS.line_bytes
    for number, line in enumerate(iter(lambda: stream.readline(most + 1), ""), start=1):
        if len(line) > most:
            raise DataError(
                f"{name}:{number}: the line is longer than {LIMITS.line_mb} MB "
                "(--max-line-mb allows more)"
            )
        yield line


_KINDS = {",": "CSV", "\t": "TSV"}
