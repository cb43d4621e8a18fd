"""Keep the final context within a number of tokens.

Tokens are counted on the context as the reader gets it, with titles and joins. Units are taken
best first; one that does not fit is passed over for a smaller one. Where not even the best fits,
its sentences are tried, then its first words, without the title if need be; that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from grasp_cli.compression.tasks import Candidate, Evidence, Passage

Count = Callable[[list[Evidence], bool], int]  # tokens of the context made of evidence, titled


class Fitted(NamedTuple):
    """What fits a budget; `cut` counts characters cut off the best unit to make it fit."""

    kept: list[Evidence]
    titles: bool = True
    cut: int = 0


def fit(
    candidates: Sequence[Candidate],
    best_first: Sequence[int],
    passages: Sequence[Passage],
    count: Count,
    most: int,
) -> Fitted:
    """The best candidates whose context has at most `most` tokens as `count` counts them."""
    everything = [run for number in sorted(best_first) for run in candidates[number].runs]
    if count(everything, True) <= most:
        return Fitted(everything)
    kept: list[Evidence] = []
    for number in best_first:
        wider = kept + candidates[number].runs
        if count(wider, True) <= most:
            kept = wider
    if kept or not best_first:
        return Fitted(kept)
    return _shortened(candidates[best_first[0]], passages, count, most)


def _shortened(best: Candidate, passages: Sequence[Passage], count: Count, most: int) -> Fitted:
    whole = sum(run.end - run.start for run in best.runs)
    if count(best.runs, False) <= most:
        return Fitted(best.runs, titles=False)
    for titles in (True, False):
        sentences: list[Evidence] = []
        for sentence in _sentences(best, passages):
            if count([*sentences, sentence], titles) <= most:
                sentences.append(sentence)
        if sentences:
            return Fitted(sentences, titles, whole - sum(s.end - s.start for s in sentences))
    first = best.runs[0]
    for ends in _cuts(passages[first.passage].text, first):
        cuts = [first._replace(end=end) for end in ends]
        fitting = _last_true(len(cuts), partial(_fits, cuts, count, most))
        if fitting is not None:
            return Fitted([cuts[fitting]], False, whole - (cuts[fitting].end - first.start))
    return Fitted([], False, whole)


def _sentences(candidate: Candidate, passages: Sequence[Passage]) -> list[Evidence]:
    found = []
    for run in candidate.runs:
        for position, sentence in enumerate(passages[run.passage].sentences):
            if run.start <= sentence.start and sentence.end <= run.end:
                found.append(
                    run._replace(start=sentence.start, end=sentence.end, sentence=position)
                )
    return found


def _cuts(text: str, run: Evidence) -> tuple[list[int], list[int]]:
    """Where the run can be cut: before white space; where that is not enough, anywhere."""
    inside = [end for end in range(run.start + 1, run.end) if not text[end - 1].isspace()]
    return [end for end in inside if text[end].isspace()], inside


def _fits(cuts: list[Evidence], count: Count, most: int, at: int) -> bool:
    return count([cuts[at]], False) <= most


def _last_true(count: int, holds: Callable[[int], bool]) -> int | None:
    """The last position where `holds`, given that it holds up to some position and not after."""
    low, high = -1, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low if low >= 0 else None
