"""Keep the final context within its limits: spans, tokens of a document, tokens in all.

Tokens are counted on the context as the reader gets it, with headings and joins. Units are taken
best first; one that does not fit is passed over for a smaller one. Where not even the best fits,
its sentences are tried, then its first words, without the headings if need be; that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from grasp_cli.compression.tasks import Candidate, Evidence, Passage

Count = Callable[[list[Evidence], bool], int]  # tokens of the context of evidence, with headings


class Fill(Protocol):
    """A way to fill a budget of `most` tokens."""

    def __call__(
        self,
        candidates: Sequence[Candidate],
        best_first: Sequence[int],
        passages: Sequence[Passage],
        count: Count,
        most: int,
        *,
        titles: bool = True,
    ) -> Fitted:
        """What of the candidates, in that order, is within the budget."""
        ...


class Fitted(NamedTuple):
    """What fits a budget; `cut` counts characters cut off units to make them fit."""

    kept: list[Evidence]
    titles: bool = True
    cut: int = 0


@dataclass(frozen=True)
class Limits:
    """What a context may hold; None: as much as there is."""

    tokens: int | None = None
    tokens_per_document: int | None = None
    spans: int | None = None


def within(
    limits: Limits,
    candidates: Sequence[Candidate],
    best_first: Sequence[int],
    passages: Sequence[Passage],
    documents: Sequence[int],
    count: Count,
    fill: Fill | None = None,
) -> Fitted:
    """The best candidates within all limits: first spans, then each document, then the whole.

    `documents` holds each passage's document; `fill` is how a budget is filled (`fit`, `leading`).
    """
    fill = fill or fit
    chosen = list(best_first)[: limits.spans]
    fitted = Fitted([run for number in chosen for run in candidates[number].runs])
    if limits.tokens_per_document is not None:
        candidates, chosen, fitted = _each(
            limits.tokens_per_document, candidates, chosen, passages, documents, count, fill
        )
    if limits.tokens is None:
        return fitted
    whole = fill(candidates, chosen, passages, count, limits.tokens, titles=fitted.titles)
    return whole._replace(cut=whole.cut + fitted.cut)


def _each(
    most: int,
    candidates: Sequence[Candidate],
    best_first: list[int],
    passages: Sequence[Passage],
    documents: Sequence[int],
    count: Count,
    fill: Fill,
) -> tuple[Sequence[Candidate], list[int], Fitted]:
    """Every document within its own limit: the candidates as far as they fit, and which do."""
    members: dict[int, list[int]] = {}
    for number in best_first:
        members.setdefault(documents[candidates[number].runs[0].passage], []).append(number)
    parts = [fill(candidates, own, passages, count, most) for own in members.values()]
    kept = [run for part in parts for run in part.kept]
    left = list(candidates)
    for number in best_first:
        places = {(run.passage, run.unit) for run in candidates[number].runs}
        runs = [run for run in kept if (run.passage, run.unit) in places]
        left[number] = candidates[number]._replace(runs=runs)
    return (
        left,
        [number for number in best_first if left[number].runs],
        Fitted(kept, all(part.titles for part in parts), sum(part.cut for part in parts)),
    )


def fit(
    candidates: Sequence[Candidate],
    best_first: Sequence[int],
    passages: Sequence[Passage],
    count: Count,
    most: int,
    *,
    titles: bool = True,
) -> Fitted:
    """The best candidates whose context has at most `most` tokens as `count` counts them."""
    everything = [run for number in sorted(best_first) for run in candidates[number].runs]
    if count(everything, titles) <= most:
        return Fitted(everything, titles)
    kept: list[Evidence] = []
    for number in best_first:
        wider = kept + candidates[number].runs
        if count(wider, titles) <= most:
            kept = wider
    if kept or not best_first:
        return Fitted(kept, titles)
    return _shortened(candidates[best_first[0]], passages, count, most, titles)


def leading(
    candidates: Sequence[Candidate],
    best_first: Sequence[int],
    passages: Sequence[Passage],
    count: Count,
    most: int,
    *,
    titles: bool = True,
) -> Fitted:
    """The candidates one after the other up to `most` tokens; the last is cut where that is."""
    runs = [run for number in best_first for run in candidates[number].runs]
    if not runs or count(runs, titles) <= most:
        return Fitted(runs, titles)
    for headed, anywhere in dict.fromkeys(((titles, False), (False, False), (False, True))):
        ends = [
            (place, end)
            for place, run in enumerate(runs)
            for end in [*_cuts(passages[run.passage].text, run)[anywhere], run.end]
        ]
        fitting = _last_true(len(ends), partial(_begins, runs, ends, count, most, headed))
        if fitting is not None:
            kept = _beginning(runs, *ends[fitting])
            return Fitted(kept, headed, runs[len(kept) - 1].end - kept[-1].end)
    return Fitted([], False, sum(run.end - run.start for run in runs))


def beginning(text: str, count: Callable[[str], int], most: int) -> str:
    """As much of a text as has at most `most` tokens, cut before white space where that can be."""
    run = Evidence(0, 0, len(text), None, 0, 0, False)
    words, characters = _cuts(text, run)
    for ends in ([*words, len(text)], characters):
        fitting = _last_true(len(ends), partial(_text_fits, text, ends, count, most))
        if fitting is not None:
            return text[: ends[fitting]]
    return ""


def _text_fits(text: str, ends: list[int], count: Callable[[str], int], most: int, at: int) -> bool:
    return count(text[: ends[at]]) <= most


def _begins(
    runs: list[Evidence],
    ends: list[tuple[int, int]],
    count: Count,
    most: int,
    headed: bool,
    at: int,
) -> bool:
    return count(_beginning(runs, *ends[at]), headed) <= most


def _beginning(runs: list[Evidence], place: int, end: int) -> list[Evidence]:
    """The runs up to one of them, that one up to `end`."""
    return [*runs[:place], runs[place]._replace(end=end)]


def _shortened(
    best: Candidate, passages: Sequence[Passage], count: Count, most: int, titles: bool
) -> Fitted:
    whole = sum(run.end - run.start for run in best.runs)
    if count(best.runs, False) <= most:
        return Fitted(best.runs, titles=False)
    for headed in dict.fromkeys((titles, False)):
        sentences: list[Evidence] = []
        for sentence in _sentences(best, passages):
            if count([*sentences, sentence], headed) <= most:
                sentences.append(sentence)
        if sentences:
            return Fitted(sentences, headed, whole - sum(s.end - s.start for s in sentences))
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
