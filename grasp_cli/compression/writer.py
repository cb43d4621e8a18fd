"""Writes contexts within the limits of a run, and counts their tokens as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grasp_cli.compression.adaptive import elbow
from grasp_cli.compression.blocks import (
    GAP,
    Layout,
    compose,
    documents,
    join_contexts,
    without_overlaps,
)
from grasp_cli.compression.budget import Fill, Fitted, Limits, beginning, fit, within
from grasp_cli.compression.tasks import Candidate, Evidence, Passage
from grasp_cli.defaults import CompressDefaults
from grasp_cli.pipe.records import Record
from grasp_cli.text.tokens import TokenCounter

_OWN_RATE = ("llmlingua2", "longllmlingua")  # theirs is of the texts, titles not counted


class Writer:
    """Layout, limits and counting of one run."""

    def __init__(self, counter: TokenCounter, options: CompressDefaults) -> None:
        self._counter = counter
        self._options = options
        self._layout = Layout(gap=options.gap, markers=options.markers)
        self.adaptive = options.budget == "adaptive"  # in place of the threshold
        most = options.max_tokens
        if self.adaptive and most is None:
            most = options.adaptive_max_tokens
        self._limits = Limits(most, options.max_tokens_per_doc, options.top_k_spans)

    def full(self, contexts: Sequence[Record]) -> str:
        """What no compression writes: the measure of what is removed."""
        return join_contexts(contexts, self._layout)

    def text(self, contexts: Sequence[Record], kept: Sequence[Evidence], headings: bool) -> str:
        """The context; with plain gaps where the marked ones outweigh what they stand for."""
        layout = replace(self._layout, headings=headings)
        text = compose(contexts, kept, layout)
        if layout.gap != GAP:
            full = self.full(contexts)
            tokens, most = self._counter.count([text, full])
            if tokens > most or len(text) > len(full):
                return compose(contexts, kept, replace(layout, gap=GAP))
        return text

    def written(self, contexts: Sequence[Record], text: str) -> str:
        """A text that a model wrote, within the limits and no longer than all contexts."""
        full = self.full(contexts)
        most = self._counter.count([full])[0]
        limit = self._limits_of(contexts).tokens

        def count(part: str) -> int:
            return self._counter.count([part])[0]

        within_input = text.strip()[: len(full)]
        return beginning(within_input, count, most if limit is None else min(most, limit)).strip()

    def fitted(
        self,
        contexts: Sequence[Record],
        passages: Sequence[Passage],
        units: Sequence[Candidate],
        best_first: Sequence[int],
        fill: Fill = fit,
    ) -> Fitted:
        """What of the units, best first, is within the limits."""

        def count(kept: list[Evidence], headings: bool) -> int:
            return self._count(contexts, kept, headings)

        limits = self._limits_of(contexts)
        return within(limits, units, best_first, passages, documents(contexts), count, fill)

    def budget(self, tokens_in: int) -> int | None:
        """The most tokens of a context, where --method none writes `tokens_in`; None: no limit."""
        if not self._has_rate:
            return self._limits.tokens
        share = max(int(round((self._options.rate or 0) * tokens_in, 9)), 1)
        return share if self._limits.tokens is None else min(share, max(self._limits.tokens, 1))

    @property
    def _has_rate(self) -> bool:
        """Whether a rate limits the whole context."""
        return self._options.rate is not None and self._options.method not in _OWN_RATE

    def _limits_of(self, contexts: Sequence[Record]) -> Limits:
        """The limits of a run, with the rate of what no compression writes as tokens."""
        if not self._has_rate:
            return self._limits
        tokens_in = self._counter.count([self.full(contexts)])[0]
        return replace(self._limits, tokens=self.budget(tokens_in))

    def worthwhile(
        self, contexts: Sequence[Record], units: Sequence[Candidate], best_first: list[int]
    ) -> list[int]:
        """The units that the adaptive budget takes, best first."""

        def tokens(most: int) -> int:
            runs = [run for number in best_first[:most] for run in units[number].runs]
            return self._count(contexts, runs, True)

        scores = [units[number].score or 0.0 for number in best_first]
        options = self._options
        count = elbow(scores, tokens, min_tokens=options.min_tokens, gap=options.adaptive_gap)
        return best_first[:count]

    def _count(self, contexts: Sequence[Record], kept: list[Evidence], headings: bool) -> int:
        """Tokens of the context that this evidence makes."""
        layout = replace(self._layout, headings=headings)
        text = compose(contexts, without_overlaps(contexts, kept), layout)
        return self._counter.count([text])[0]
