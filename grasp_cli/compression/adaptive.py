"""The adaptive budget: how many of the best units are worth their tokens.

After ragcompress, in place of the threshold: units best first, at least `min_tokens` of context,
then up to the first gap in their scores. Of two units the better one always stands a gap above
the other once scores are normalised, so there the gap says nothing, and none is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grasp_cli.defaults import SCORE_DECIMALS

_FEW = 2


def elbow(
    scores: Sequence[float], tokens: Callable[[int], int], *, min_tokens: int, gap: float
) -> int:
    """How many of the best units stay.

    Parameters
    ----------
    scores
        Scores of all units, highest first.
    tokens
        The context's tokens with the first n units.
    min_tokens
        No fewer tokens than this, as long as there are units.
    gap
        The drop between neighbouring scores, scaled to 0 to 1 over all units, that is an elbow.
    """
    if len(scores) <= _FEW or scores[0] == scores[-1]:
        return len(scores)
    span = scores[0] - scores[-1]
    for count in range(1, len(scores)):
        drop = round((scores[count - 1] - scores[count]) / span, SCORE_DECIMALS)
        if drop > gap and tokens(count) >= min_tokens:
            return count
    return len(scores)
