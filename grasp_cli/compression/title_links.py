"""Which sentences of a record name the title of another of its passages.

A question with two hops is answered by a sentence that names a second passage and by that passage
itself; neither can be seen by reading a passage alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.tasks import Passage
from grasp_cli.text.scripts import UNSPACED

_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")  # "Mercury (planet)"
_LEAST = 3  # letters of a title that can be told from chance; one without spaces counts as two
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SPACED_WORD = rf"[^\W{UNSPACED}]"


def links(passages: Sequence[Passage]) -> list[list[list[int]]]:
    """Per passage and sentence the numbers of the other passages whose titles it names.

    Titles are compared without case and without a qualifier in brackets, as whole words; in
    scripts without spaces a title may stand anywhere.
    """
    titles = [_name(passage.title) for passage in passages]
    known: dict[str, list[int]] = {}
    for number, title in enumerate(titles):
        if len(title) + len(_UNSPACED.findall(title)) >= _LEAST:
            known.setdefault(title, []).append(number)
    found: list[list[list[int]]] = []
    for number, passage in enumerate(passages):
        text = _lower(passage.text)
        named: list[list[int]] = [[] for _ in passage.sentences]
        for title, owners in known.items():
            if title == titles[number] or title not in text:
                continue
            starts = [m.start() for m in re.finditer(_whole(title), text)]
            for position, sentence in enumerate(passage.sentences):
                if any(sentence.start <= start < sentence.end for start in starts):
                    named[position] += owners
        found.append(named)
    return found


def features(
    named: Sequence[Sequence[Sequence[int]]], scores: Sequence[npt.NDArray[np.float64]]
) -> tuple[list[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """What the links say about each sentence and each passage.

    Parameters
    ----------
    named
        As `links` gives it.
    scores
        Per passage the sentences' own scores from 0 to 1.

    Returns
    -------
    tuple
        Per passage and sentence the best score in the passages that it names, 0 for none; and per
        passage the best score of a sentence elsewhere that names it, 0 for none.
    """
    best = [float(own.max()) if len(own) else 0.0 for own in scores]
    outward = [np.zeros(len(own)) for own in scores]
    inward = np.zeros(len(scores))
    for passage, sentences in enumerate(named):
        for position, owners in enumerate(sentences):
            for owner in owners:
                outward[passage][position] = max(outward[passage][position], best[owner])
                inward[owner] = max(inward[owner], float(scores[passage][position]))
    return outward, inward


def _name(title: str) -> str:
    return _lower(_QUALIFIER.sub("", title).strip())


def _lower(text: str) -> str:
    """Without case and of the same length: İ alone would become two characters."""
    return text.replace("İ", "I").lower()


def _whole(title: str) -> str:
    before = "" if _UNSPACED.match(title[0]) else rf"(?<!{_SPACED_WORD})"
    after = "" if _UNSPACED.match(title[-1]) else rf"(?!{_SPACED_WORD})"
    return f"{before}{re.escape(title)}{after}"
