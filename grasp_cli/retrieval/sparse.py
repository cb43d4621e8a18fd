"""BM25 on the bm25s engine: term scores are computed once, when the index is built.

`lucene`: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), never negative, and a term's weight
tf / (tf + k1 (1 - b + b l / mean l)).
`okapi`: what rank-bm25's BM25Okapi ranks by: idf = ln((N - df + 0.5) / (df + 0.5)), where a
negative one (a word in more than half of the passages) is replaced by epsilon = 0.25 times the mean
idf of all words; the weight is k1 + 1 times the one above.

The postings go through arrays of plain numbers, 8 bytes each, not through bm25s's own builder,
which holds every word of every passage as a Python object and has no idf of this kind.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.defaults import INDEX
from grasp_cli.retrieval.ranking import NOTHING, RESOLUTION, Order, Ranking, ranked
from grasp_cli.retrieval.tokens import Tokenizer

Floats = npt.NDArray[np.float64]
EPSILON = 0.25


def lucene_idf(frequencies: Floats, passages: int) -> Floats:
    """Inverse document frequency as Lucene has it, one value per word."""
    return np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))


def okapi_idf(frequencies: Floats, passages: int) -> Floats:
    """Inverse document frequency as rank-bm25's BM25Okapi has it, one value per word."""
    idf = np.log(passages - frequencies + 0.5) - np.log(frequencies + 0.5)
    return np.where(idf < 0, EPSILON * idf.mean(), idf) if len(idf) else idf


IDF = {"lucene": lucene_idf, "okapi": okapi_idf}
_ENGINE_METHOD = {"lucene": "lucene", "okapi": "atire"}  # bm25s's names for the weights


class SparseBuilder:
    """Takes passages in order and writes the BM25 index of all of them."""

    def __init__(self, tokenizer: Tokenizer, method: str = "lucene") -> None:
        self._tokenizer = tokenizer
        self._method = method
        self._vocabulary: dict[str, int] = {}
        self._words = array("i")  # one entry per passage and distinct word of it:
        self._counts = array("i")  # which word, and how often
        self._distinct = array("i")  # distinct words of each passage
        self._lengths = array("i")  # words of each passage

    def add(self, texts: Iterable[str]) -> None:
        """Count the words of further passages."""
        known = self._vocabulary
        for text in texts:
            words = self._tokenizer.words(text)
            counts = Counter(known.setdefault(word, len(known)) for word in words)
            self._words.extend(counts)
            self._counts.extend(counts.values())
            self._distinct.append(len(counts))
            self._lengths.append(len(words))

    @property
    def words(self) -> int:
        """How many different words there are."""
        return len(self._vocabulary)

    def save(self, directory: Path) -> None:
        """Write the index; numpy arrays and JSON only, no pickle."""
        engine = _engine(self._method)
        engine.vocab_dict = self._vocabulary
        engine.nonoccurrence_array = None
        engine.scores = self._matrix()
        engine.save(directory, show_progress=False)

    def _matrix(self) -> dict[str, Any]:
        """Scores by word: those of word w are data[indptr[w]:indptr[w + 1]]."""
        words, counts, distinct, lengths = (
            np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32)
            for numbers in (self._words, self._counts, self._distinct, self._lengths)
        )
        by_word = np.argsort(words, kind="stable")
        frequencies = np.bincount(words, minlength=len(self._vocabulary))
        indices = np.repeat(np.arange(len(distinct), dtype=np.int32), distinct)[by_word]
        idf = IDF[self._method](frequencies.astype(np.float64), len(lengths))
        weights = self._weights(counts[by_word], lengths[indices], lengths)
        return {
            "data": (np.repeat(idf, frequencies) * weights).astype(np.float32),
            "indices": indices,
            "indptr": np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64),
            "num_docs": len(lengths),
        }

    def _weights(
        self,
        counts: npt.NDArray[np.int32],
        lengths: npt.NDArray[np.int32],
        all_lengths: npt.NDArray[np.int32],
    ) -> Floats:
        mean = all_lengths.mean() if len(lengths) else 1.0
        saturation = INDEX.bm25_k1 * (1 - INDEX.bm25_b + INDEX.bm25_b * lengths / mean)
        weights: Floats = counts / (counts + saturation)
        return weights * (INDEX.bm25_k1 + 1) if self._method == "okapi" else weights


class SparseIndex:
    """A BM25 index on disk, memory-mapped; `words` as its builder counted them."""

    def __init__(self, directory: Path, words: int, tokenizer: Tokenizer, order: Order) -> None:
        import bm25s

        self._engine = bm25s.BM25.load(directory, mmap=words > 0)  # empty files cannot be mapped
        self._tokenizer = tokenizer
        self._order = order

    def search(self, question: str, depth: int) -> Ranking:
        """The `depth` best passages that share words with `question`, scores above zero."""
        words = self._engine.get_tokens_ids(self._tokenizer.words(question))
        if not words:
            return NOTHING
        scores = self._engine.get_scores_from_ids(words)
        least = RESOLUTION / 2
        if depth < len(scores):
            tied = np.partition(scores, -depth)[-depth] - RESOLUTION  # may still round to equal
            least = max(least, tied)
        positions = np.flatnonzero(scores > least)
        return ranked(positions, scores[positions], self._order, depth)


def _engine(method: str) -> Any:
    import bm25s

    return bm25s.BM25(k1=INDEX.bm25_k1, b=INDEX.bm25_b, method=_ENGINE_METHOD[method])
