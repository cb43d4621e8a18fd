"""Answer metrics: one gold answer against one given answer, 0 to 1; the best alias counts.

A gold answer that normalises to nothing (the blood group "A") is right only when the answer's
literal tokens equal its own. Gold yes or no is right, in every metric, where the first token of
the answer is that word: "No, he left." says no, "I know of no one" does not. No gold answer at all
(`answers: []`) means that the question has none, and only a refusal of `grasp_cli.text.refusals`
is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from grasp_cli.evaluation.rouge import rouge_l
from grasp_cli.text.answers import literal_tokens, normalise, tokens
from grasp_cli.text.refusals import REFUSALS

YES_NO = {("yes",), ("no",)}
_CLOSED = {*YES_NO, ("noanswer",)}
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
    return _or_literal(rouge_l(gold, answer), gold, answer)


def rouge_stemmed(gold: str, answer: str) -> float:
    """The same of stemmed words."""
    return _or_literal(rouge_l(gold, answer, stemming=True), gold, answer)


Function = Callable[[str, str], float]
FUNCTIONS: dict[str, Function] = {
    "em": exact_match,
    "contains": contains,
    "f1": f1,
    "rouge_l": rouge,
}
STEMMED: dict[str, Function] = {"rouge_l_stem": rouge_stemmed}


def score_answer(
    answer: str, golds: Sequence[str], functions: Mapping[str, Function] = FUNCTIONS
) -> dict[str, float]:
    """Every answer metric; the maximum over the gold answers."""
    if not golds:
        return dict.fromkeys(functions, float(is_refusal(answer)))
    open_ended = [gold for gold in golds if tokens(gold) not in YES_NO]
    if any(tokens(gold) in YES_NO and tokens(answer)[:1] == tokens(gold) for gold in golds):
        return dict.fromkeys(functions, 1.0)
    return {
        name: max((function(gold, answer) for gold in open_ended), default=0.0)
        for name, function in functions.items()
    }


def is_refusal(answer: str) -> bool:
    """Whether the answer is one of the tabled ways to say that there is none."""
    return normalise(answer) in _NORMAL_REFUSALS


def _or_literal(score: float | None, gold: str, answer: str) -> float:
    return _literally_equal(gold, answer) if score is None else score


def _literally_equal(gold: str, answer: str) -> float:
    return float(literal_tokens(gold) == literal_tokens(answer))
