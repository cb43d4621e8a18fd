"""BM25 on the bm25s engine: term scores are computed once, when the index is built.

`lucene`: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), never negative, and a term's weight
tf / (tf + k1 (1 - b + b l / mean l)).
`okapi`: what rank-bm25's BM25Okapi ranks by: idf = ln((N - df + 0.5) / (df + 0.5)), where a
negative one (a word in more than half of the passages) is replaced by epsilon = 0.25 times the mean
idf of all words; the weight is k1 + 1 times the one above.

The postings go to disk as they are counted and are sorted by word there, block by block, not by
bm25s's own builder, which holds every word of every passage as a Python object and has no idf of
this kind. Memory is that of the distinct words and of eight bytes per passage.

    words.txt, words.npy   the words, sorted (`vocabulary`)
    starts.npy             int64, words + 1: where each word's postings begin
    passages.npy           int32: the passages that hold the word, in order
    scores.npy             float32: what the word adds to the score of each of them
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
from grasp_cli.retrieval.arrays import create_array, flush, open_array
from grasp_cli.retrieval.ranking import NOTHING, RESOLUTION, Order, Ranking, ranked
from grasp_cli.retrieval.tokens import Tokenizer
from grasp_cli.retrieval.vocabulary import Vocabulary, write_words

Floats = npt.NDArray[np.float64]
EPSILON = 0.25
STARTS, PASSAGES, SCORES = "starts.npy", "passages.npy", "scores.npy"
_BLOCK = 1 << 21  # postings sorted at once


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
    """Takes passages in order and writes the BM25 index of all of them to a new directory."""

    def __init__(self, directory: Path, tokenizer: Tokenizer, method: str = "lucene") -> None:
        directory.mkdir()
        self._directory = directory
        self._tokenizer = tokenizer
        self._method = method
        self._vocabulary: dict[str, int] = {}
        self._postings = directory / "postings.tmp"  # word and count, as they come
        self._stream = open(self._postings, "wb")  # noqa: SIM115 - `save` and `close` do
        self._distinct = array("i")  # distinct words of each passage
        self._lengths = array("i")  # words of each passage

    def add(self, texts: Iterable[str]) -> None:
        """Count the words of further passages."""
        known, postings = self._vocabulary, array("i")
        for text in texts:
            words = self._tokenizer.words(text)
            counts = Counter(known.setdefault(word, len(known)) for word in words)
            for pair in counts.items():
                postings.extend(pair)
            self._distinct.append(len(counts))
            self._lengths.append(len(words))
        self._stream.write(postings)

    @property
    def words(self) -> int:
        """How many different words there are."""
        return len(self._vocabulary)

    def save(self) -> None:
        """Write the index and remove the unsorted postings."""
        self._stream.close()
        sorted_words = sorted(self._vocabulary)
        write_words(self._directory, sorted_words)
        numbers = np.empty(self.words, np.int32)  # of words as they came, among the sorted ones
        for number, word in enumerate(sorted_words):
            numbers[self._vocabulary[word]] = number
        if self._postings.stat().st_size:
            postings = np.memmap(self._postings, np.int32, "r").reshape(-1, 2)
        else:
            postings = np.empty((0, 2), np.int32)
        self._write(postings, numbers)
        del postings
        self._postings.unlink()

    def close(self) -> None:
        """Let go of the file; for a build that is given up."""
        self._stream.close()

    def _write(self, postings: Any, numbers: npt.NDArray[np.int32]) -> None:
        """Distribute the postings to the places of their words, block by block."""
        distinct, lengths = np.array(self._distinct, np.int64), np.array(self._lengths, np.int64)
        ends = np.cumsum(distinct)
        frequencies = self._frequencies(postings, numbers)
        starts = np.concatenate(([0], np.cumsum(frequencies)))
        np.save(self._directory / STARTS, starts)
        idf = IDF[self._method](frequencies.astype(np.float64), len(lengths))
        saturation = self._saturation(lengths)
        passages = create_array(self._directory / PASSAGES, np.int32, len(postings))
        scores = create_array(self._directory / SCORES, np.float32, len(postings))
        free = starts[:-1].copy()  # the next place of each word
        for begin in range(0, len(postings), _BLOCK):
            block = np.array(postings[begin : begin + _BLOCK])
            words = numbers[block[:, 0]]
            by_word = np.argsort(words, kind="stable")
            words, counts = words[by_word], block[by_word, 1].astype(np.float64)
            owners = np.searchsorted(ends, begin + by_word, side="right")
            present, first, sizes = np.unique(words, return_index=True, return_counts=True)
            places = free[words] + np.arange(len(words)) - np.repeat(first, sizes)
            passages[places] = owners
            scores[places] = idf[words] * counts / (counts + saturation[owners]) * self._factor
            free[present] += sizes
        flush(passages)
        flush(scores)

    def _frequencies(self, postings: Any, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """In how many passages each word is."""
        frequencies = np.zeros(self.words, np.int64)
        for begin in range(0, len(postings), _BLOCK):
            words = numbers[postings[begin : begin + _BLOCK, 0]]
            frequencies += np.bincount(words, minlength=self.words)
        return frequencies

    def _saturation(self, lengths: npt.NDArray[np.int64]) -> Floats:
        mean = lengths.mean() if lengths.any() else 1.0
        values: Floats = INDEX.bm25_k1 * (1 - INDEX.bm25_b + INDEX.bm25_b * lengths / mean)
        return values

    @property
    def _factor(self) -> float:
        return INDEX.bm25_k1 + 1 if self._method == "okapi" else 1.0


class SparseIndex:
    """A BM25 index on disk, memory-mapped.

    Parameters
    ----------
    directory : where a `SparseBuilder` wrote it
    words, passages : how many there are
    method : "lucene" or "okapi"
    order : for ties
    """

    def __init__(
        self,
        directory: Path,
        words: int,
        passages: int,
        tokenizer: Tokenizer,
        order: Order,
        method: str = "lucene",
    ) -> None:
        import bm25s

        starts = open_array(directory / STARTS, words + 1)
        self._engine = bm25s.BM25(k1=INDEX.bm25_k1, b=INDEX.bm25_b, method=_ENGINE_METHOD[method])
        self._engine.nonoccurrence_array = None
        self._engine.scores = {
            "data": open_array(directory / SCORES, int(starts[-1])),
            "indices": open_array(directory / PASSAGES, int(starts[-1])),
            "indptr": starts,
            "num_docs": passages,
        }
        self._vocabulary = Vocabulary(directory, words)
        self._tokenizer = tokenizer
        self._order = order

    def search(self, question: str, depth: int) -> Ranking:
        """The `depth` best passages that share words with `question`, scores above zero."""
        words = self._vocabulary.numbers(self._tokenizer.words(question))
        if not words:
            return NOTHING
        scores = self._engine.get_scores_from_ids(words)
        least = RESOLUTION / 2
        if depth < len(scores):
            tied = np.partition(scores, -depth)[-depth] - RESOLUTION  # may still round to equal
            least = max(least, tied)
        positions = np.flatnonzero(scores > least)
        return ranked(positions, scores[positions], self._order, depth)
