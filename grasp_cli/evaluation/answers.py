"""Answer metrics: one gold answer against one given answer, 0 to 1; the best alias counts.

A gold answer that normalises to nothing (the blood group "A") is right only when the answer's
literal tokens equal its own. No gold answer at all (`answers: []`) means that the question has
none, and only a refusal of `grasp_cli.text.refusals` is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from grasp_cli.evaluation.rouge import rouge_l
from grasp_cli.text.answers import literal_tokens, normalise, tokens
from grasp_cli.text.refusals import REFUSALS

_CLOSED = {("yes",), ("no",), ("noanswer",)}
_NORMAL_REFUSALS = frozenset(map(normalise, REFUSALS))


def exact_match(gold: str, answer: str) -> float:
    """1 where the normalised tokens are equal (SQuAD, Rajpurkar et al. 2016)."""
    if not tokens(gold):
        return _literally_equal(gold, answer)
    return float(tokens(gold) == tokens(answer))


def contains(gold: str, answer: str) -> float:
    """1 where the gold tokens stand in the answer one after another (whole tokens, not letters)."""
    part, whole = tokens(gold), tokens(answer)
    if not part:
        return _literally_equal(gold, answer)
    last = len(whole) - len(part)
    return float(any(whole[at : at + len(part)] == part for at in range(last + 1)))


def f1(gold: str, answer: str) -> float:
    """F1 of shared tokens; 0 where either is yes, no or noanswer and they differ (HotpotQA)."""
    wanted, given = tokens(gold), tokens(answer)
    if not wanted:
        return _literally_equal(gold, answer)
    if wanted != given and (wanted in _CLOSED or given in _CLOSED):
        return 0.0
    if set(wanted).isdisjoint(given):
        return 0.0
    shared = (Counter(wanted) & Counter(given)).total()
    return 2 * shared / (len(wanted) + len(given))


def rouge(gold: str, answer: str) -> float:
    """ROUGE-L F-measure; literal equality where the gold answer has no word."""
    score = rouge_l(gold, answer)
    return _literally_equal(gold, answer) if score is None else score


FUNCTIONS: dict[str, Callable[[str, str], float]] = {
    "em": exact_match,
    "contains": contains,
    "f1": f1,
    "rouge_l": rouge,
}


def score_answer(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Every answer metric; the maximum over the gold answers."""
    if not golds:
        return dict.fromkeys(FUNCTIONS, float(is_refusal(answer)))
    return {
        name: max(function(gold, answer) for gold in golds) for name, function in FUNCTIONS.items()
    }


def is_refusal(answer: str) -> bool:
    """Whether the answer is one of the tabled ways to say that there is none."""
    return normalise(answer) in _NORMAL_REFUSALS


def _literally_equal(gold: str, answer: str) -> float:
    return float(literal_tokens(gold) == literal_tokens(answer))
