"""Leave out units that say again what a better one says (maximal marginal relevance).

Carbonell and Goldstein 1998: the next unit is the one with the highest
lambda * score - (1 - lambda) * (greatest cosine to a unit already taken). One whose greatest
cosine lies above the threshold is left out, unless it differs from that unit in a number, a name
or a negation: "5M in 2021" is no copy of "5M in 2020".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import SCORE_DECIMALS

_WORD = re.compile(r"[^\W_]+(?:[.,'’:/-][^\W_]+)*")
_NEGATIONS = frozenset(
    {"no", "not", "never", "none", "neither", "nor", "without", "cannot"}
    | {"kein", "keine", "keinen", "keiner", "nicht", "nie", "ohne"}
    | {"ne", "pas", "jamais", "sans", "sin", "nunca"}
)


def distinct(
    scores: Sequence[float],
    vectors: npt.NDArray[np.float32],
    texts: Sequence[str],
    *,
    threshold: float,
    mmr_lambda: float,
) -> list[int]:
    """Numbers of the units that stay, in the order in which they were taken.

    Parameters
    ----------
    scores
        Relevance scores, length n.
    vectors
        Embeddings of length one, shape (n, d).
    texts
        The units' texts, length n.
    threshold
        The greatest cosine to a taken unit that still counts as new.
    mmr_lambda
        Weight of relevance against novelty, 0 to 1.
    """
    cosines = np.round((vectors @ vectors.T).astype(np.float64), SCORE_DECIMALS)
    left, taken = list(range(len(scores))), list[int]()
    while left:
        nearest = {
            unit: max((cosines[unit, other] for other in taken), default=0.0) for unit in left
        }
        unit = max(left, key=lambda u: (mmr_lambda * scores[u] - (1 - mmr_lambda) * nearest[u], -u))
        left.remove(unit)
        copies = (
            other
            for other in taken
            if cosines[unit, other] > threshold and says_the_same(texts[unit], texts[other])
        )
        if next(copies, None) is None:
            taken.append(unit)
    return taken


def says_the_same(first: str, second: str) -> bool:
    """Whether two similar texts agree in their numbers, names and negations.

    In scripts without capital letters names cannot be told, so there all words must agree.
    """
    return _facts(first) == _facts(second)


def _facts(text: str) -> frozenset[str]:
    words = _WORD.findall(text)
    if not any(word != word.lower() for word in words) and not text.isascii():
        return frozenset(words)
    facts = set()
    for position, word in enumerate(words):
        lowered = word.lower().replace("’", "'")
        if any(character.isdigit() for character in word):
            facts.add(lowered)
        elif lowered in _NEGATIONS or lowered.endswith("n't"):
            facts.add("not")
        elif word != lowered and (position > 0 or word.isupper() or word[1:] != word[1:].lower()):
            facts.add(lowered)
        elif not word.isascii() and word == lowered == word.upper():  # no case: Han, kana, Thai …
            facts.add(word)
    return frozenset(facts)
