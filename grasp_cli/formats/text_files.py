"""Plain text, Markdown and reStructuredText, a document a file; directories are walked.

The text stays as it is, line ends included, so that offsets into a document are offsets into its
file. The id is the path below the directory that was given, or the name of the file.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.line_limit import LIMITS
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import STDIN, damage_explained, open_binary
from grasp_cli.text import segment

MARKUP = (".md", ".markdown", ".rst")
SUFFIXES = (".txt", ".text", *MARKUP)
_PACKED = (".gz", ".zst")
_BLANK = "files are blank"
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*\r?$", re.MULTILINE)
_TITLE_WITHIN = 20_000  # characters: a heading further down is not the document's
_TAG = re.compile(r"<[^<>]*>")
_MARKS = re.compile(r"\A#+[ \t]*|[ \t]+#+\Z|[ \t]*\{[^{}]*\}\Z")


class TextFiles:
    """One document a file; its title is that of the front matter, else the first heading."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        if columns:
            raise UsageError("--column is for tables (csv, tsv, parquet), not for text")
        self.notes: Counter[str] = Counter()

    def documents(self, path: Path) -> Iterator[Record]:
        """The document of a file, or those of all text files below a directory, by path.

        A file that is named is read whatever its suffix. Raises `DataError` for what is not
        UTF-8, and for a directory without text files.
        """
        if not path.is_dir():
            yield self._document(path, "stdin" if path == STDIN else path.name)
            return
        found = sorted((file.relative_to(path).as_posix(), file) for file in _text_files(path))
        if not found:
            raise DataError(f"{path}: no text file in this directory ({', '.join(SUFFIXES)})")
        for identity, file in found:
            yield self._document(file, identity)

    def _document(self, path: Path, identity: str) -> Record:
        text = _read(path)
        self.notes[_BLANK] += not text.strip()
        title = _title(text) if _suffix(path) in MARKUP else None
        return {"id": identity, **({"title": title} if title else {}), "text": text}


def _text_files(directory: Path) -> Iterator[Path]:
    """Files by their suffix; what is hidden is left out."""
    for folder, below, names in os.walk(directory):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if _suffix(path) in SUFFIXES)


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in _PACKED else path).suffix.lower()


def _read(path: Path) -> str:
    name = "stdin" if path == STDIN else str(path)
    with open_binary(path) as stream, damage_explained(path):
        data = stream.read(LIMITS.line_bytes + 1)
    if len(data) > LIMITS.line_bytes:
        raise DataError(
            f"{name}: a document of more than {LIMITS.line_mb} MB (--max-line-mb allows more)"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: not UTF-8 (byte {error.start}); convert it: iconv -f latin1 -t utf-8 {name}"
        ) from None


def _title(text: str) -> str | None:
    start = text[:_TITLE_WITHIN]
    if front := _FRONT_MATTER.match(start):
        if found := _FRONT_TITLE.search(front[1]):
            return found[2]
        start = start[front.end() :]
    headings = (start[part.start : part.end] for part in segment(start) if part.kind == "heading")
    return next((title for heading in headings if (title := _plain(heading))), None)


def _plain(heading: str) -> str:
    """A heading without its marks, underlines and tags."""
    rows = [row for row in map(str.strip, heading.splitlines()) if len(set(row)) > 1]
    return _MARKS.sub("", _TAG.sub("", rows[0]).strip()).strip() if rows else ""
