"""Ids for passages that come without: the same passage always gets the same id.

A passage is its title and its text. Where a title names one passage (HotpotQA), the title is the
id. Where an article gives many passages (MuSiQue, SQuAD, DPR), the id is the title and a digest of
the text, so that it depends on nothing but the passage: not on the file, its order, or a sample.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from grasp_cli.pipe.records import Record

_DIGEST_CHARACTERS = 10
_REPEATED = "contexts repeat another one of the same question: left out"


def passage_id(title: str, text: str) -> str:
    """`title#digest`; the digest depends on the text alone."""
    return f"{title}#{_digest(text)}"


class NameIds:
    """A name (a title, a given id) is the id of the first text seen under it.

    Other texts under that name get `name#digest`.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __call__(self, name: str, text: str) -> str:
        """The id of `text` under `name`."""
        digest = _digest(text)
        first = self._texts.setdefault(name, digest) if name else None
        return name if first == digest else f"{name}#{digest}"


def distinct(contexts: Iterable[Record], notes: Counter[str]) -> list[Record]:
    """Contexts without those whose id came before (the same passage twice); counted in `notes`."""
    chosen: dict[str, Record] = {}
    for context in contexts:
        if context["id"] in chosen:
            notes[_REPEATED] += 1
        else:
            chosen[context["id"]] = context
    return list(chosen.values())


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends; empty spans stay empty."""
    part = text[start:end]
    lead = len(part) - len(part.lstrip())
    return start + lead, start + lead + len(part.strip())


def gold_span(document: str, text: str, start: int, end: int) -> Record:
    """A gold span of `document`, whose text is `text`; offsets in characters."""
    return {"id": document, "start": start, "end": end, "text": text[start:end]}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
