"""Greedy continuation by a causal model, with the work on a common prefix done once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from grasp_cli.models.runtime import torch_runtime


class Continuer:
    """Continues token sequences with `model`, always with the likeliest token.

    The keys and values of `prefix`, computed once (`prepare`, else on first use), serve every
    sequence that begins with it; a sequence that does not is computed whole. Each run works on a
    copy: a cache that has served one sequence holds that sequence's tokens.
    """

    def __init__(self, model: Any, prefix: Sequence[int] = ()) -> None:
        self._model = model
        self._prefix = list(prefix)
        self._prefix_cache: Any = None

    @cached_property
    def _cache_argument(self) -> str:
        """What this release of transformers calls the cache: the older name warns in newer ones."""
        known = inspect.signature(self._model.forward).parameters
        return "cache" if "cache" in known else "past_key_values"

    def prepare(self) -> None:
        """Compute the prefix, unless that was done before."""
        if self._prefix and self._prefix_cache is None:
            cache = self._empty_cache()
            with torch_runtime().inference_mode():
                self._next(self._prefix, cache)
            self._prefix_cache = cache

    def run(
        self,
        tokens: Sequence[int],
        limit: int,
        stop: Callable[[list[int]], bool],
    ) -> list[int]:
        """Up to `limit` new tokens after `tokens`, ending when `stop` of the new ones is true."""
        torch = torch_runtime()
        new: list[int] = []
        with torch.inference_mode():
            cache, known = self._start(tokens)
            step = tokens[known:]
            while len(new) < limit:
                new.append(self._next(step, cache))
                if stop(new):
                    break
                step = new[-1:]
        return new

    def _start(self, tokens: Sequence[int]) -> tuple[Any, int]:
        """A cache for `tokens` and how many of them it holds already (never all)."""
        size = len(self._prefix)
        if size and size < len(tokens) and list(tokens[:size]) == self._prefix:
            self.prepare()
            return copy.deepcopy(self._prefix_cache), size
        return self._empty_cache(), 0

    def _empty_cache(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._model.config)

    def _next(self, tokens: Sequence[int], cache: Any) -> int:
        torch = torch_runtime()
        ids = torch.tensor([list(tokens)], device=self._model.device)
        held = {self._cache_argument: cache}
        output = self._model(input_ids=ids, use_cache=True, logits_to_keep=1, **held)
        return int(output.logits[0, -1].argmax())


def common_prefix(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The tokens that both sequences begin with."""
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return list(first[:shared])
