"""Questions to passages: the stage behind `grasp retrieve`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from grasp_cli.defaults import RETRIEVE
from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import Embedder, Vectors
from grasp_cli.retrieval.fusion import reciprocal_ranks, weighted_scores
from grasp_cli.retrieval.ranking import NOTHING, Ranking
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tokens import count_words

MODES = ("hybrid", "dense", "sparse")


class Retriever:
    """Adds `contexts`, the best passages of an index, to records.

    Parameters
    ----------
    index : where to search
    encoder : gives the index's own encoder; called once, and only where vectors are needed
    mode : "dense", "sparse", or "hybrid", which fuses both
    depth : how many of each search are fused; by default max(100, 10 top_k)
    fusion : "rrf", reciprocal ranks, or "weighted", normalised scores
    rrf_k : the constant of reciprocal rank fusion
    fusion_weight : of the dense scores, from 0 to 1; the sparse ones have the rest
    """

    name = "retrieve"
    window = RETRIEVE.window

    def __init__(
        self,
        index: Index,
        encoder: Callable[[], Embedder],
        *,
        mode: str = RETRIEVE.mode,
        top_k: int = RETRIEVE.top_k,
        rrf_k: float = RETRIEVE.rrf_k,
        depth: int | None = None,
        fusion: str = RETRIEVE.fusion,
        fusion_weight: float = RETRIEVE.fusion_weight,
    ) -> None:
        self._index = index
        self._load_encoder = encoder
        self._mode = mode
        self._top_k = top_k
        self._rrf_k = rrf_k
        self._fusion = fusion
        self._fusion_weight = fusion_weight
        pool = depth or max(RETRIEVE.depth, 10 * top_k)
        self._depth = pool if mode == "hybrid" else top_k

    def process(self, records: Sequence[Record]) -> Iterator[Outcome]:
        """One outcome per record; blank questions are errors of their records."""
        self._load()
        asked = [record for record in records if record["question"].strip()]
        questions = [record["question"] for record in asked]
        started = time.perf_counter()
        contexts = self._search(questions)
        shares = shared_seconds(time.perf_counter() - started, questions)
        found = zip(contexts, shares, strict=True)
        for record in records:
            if not record["question"].strip():
                yield RecordError(
                    f'the question of record "{record["id"]}" is empty', kind="EmptyQuestion"
                )
                continue
            contexts_found, seconds = next(found)
            trace = {"mode": self._mode, "seconds": seconds}
            yield {**record, "contexts": contexts_found, "retrieval": trace}

    @cached_property
    def _encoder(self) -> Embedder:
        return self._load_encoder()

    def _load(self) -> None:
        """Open what this mode searches, so that loading is not counted as a record's time."""
        if self._mode != "dense":
            _ = self._index.sparse
        if self._mode != "sparse" and self._index.manifest.passages:
            _ = self._index.dense, self._encoder.dimension

    def _search(self, questions: list[str]) -> list[list[Record]]:
        vectors = None
        if self._mode != "sparse" and self._index.manifest.passages and questions:
            vectors = self._encoder.embed(questions)
        return [self._contexts(*pair) for pair in self._rankings(questions, vectors)]

    def _rankings(
        self, questions: list[str], vectors: Vectors | None
    ) -> list[tuple[Ranking, Ranking]]:
        """Of each question the passages by vectors and by BM25; `vectors` are the questions'."""
        dense = sparse = [NOTHING] * len(questions)
        if vectors is not None:
            dense = self._index.dense.search(vectors, self._depth)
        if self._mode != "dense":
            sparse = [self._index.sparse.search(question, self._depth) for question in questions]
        return list(zip(dense, sparse, strict=True))

    def _contexts(self, dense: Ranking, sparse: Ranking) -> list[Record]:
        """The best of one question, with the scores and ranks that put them there."""
        scores = self._scores(dense, sparse)
        order = self._index.order
        best = sorted(scores, key=lambda position: (-scores[position], order[position]))
        best = best[: self._top_k]
        lists: dict[str, dict[int, Any]] = {
            "dense_rank": _places(dense),
            "dense_score": _scores(dense),
            "sparse_rank": _places(sparse),
            "sparse_score": _scores(sparse),
        }
        contexts = []
        for rank, position in enumerate(best, start=1):
            ranks = {key: of[position] for key, of in lists.items() if position in of}
            found = {"score": scores[position], "rank": rank, **ranks}
            contexts.append(self._index.context(position, found))
        return contexts

    def _scores(self, dense: Ranking, sparse: Ranking) -> dict[int, float]:
        if self._mode == "hybrid" and self._fusion == "weighted":
            return weighted_scores(_scores(dense), _scores(sparse), self._fusion_weight)
        if self._mode == "hybrid":
            lists = [dense.positions.tolist(), sparse.positions.tolist()]
            return reciprocal_ranks(lists, self._rrf_k)
        return _scores(dense if self._mode == "dense" else sparse)


def shared_seconds(seconds: float, questions: Sequence[str]) -> list[float]:
    """The time of a batch, shared out by words."""
    sizes = [max(1, count_words(question)) for question in questions]
    return [round(seconds * size / sum(sizes), 6) for size in sizes]


def _scores(ranking: Ranking) -> dict[int, float]:
    return dict(zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True))


def _places(ranking: Ranking) -> dict[int, int]:
    return {position: rank for rank, position in enumerate(ranking.positions.tolist(), start=1)}
