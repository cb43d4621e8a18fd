"""Questions to nodes of trees: the stage behind `grasp retrieve --mode tree` and `hybrid+tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from grasp_cli.defaults import RETRIEVE, SCORE_DECIMALS, TREE
from grasp_cli.pipe.records import Record
from grasp_cli.retrieval.dense import Embedder, Vectors
from grasp_cli.retrieval.fusion import reciprocal_ranks
from grasp_cli.retrieval.ranking import Ranking
from grasp_cli.retrieval.retriever import Retriever
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree.building import unit
from grasp_cli.retrieval.tree.nesting import without_nested
from grasp_cli.retrieval.tree.search import Candidates, Node, TreeSearch
from grasp_cli.text import Span

TREE_MODES = ("tree", "hybrid+tree")
POOLS = ("flat", "roots")


@dataclass(frozen=True)
class TreeOptions:
    """How trees are searched."""

    documents: int = TREE.documents  # whose trees are searched; 0: all
    pool: str = TREE.pool  # of POOLS: what chooses them
    beam: int = TREE.beam
    threshold: float | None = None  # the least score of a node
    nested: str = TREE.nested  # "drop": no node that holds, or lies in, a better one; or "keep"


class TreeRetriever(Retriever):
    """Adds `contexts`, the best nodes of the trees of an index, to records.

    In mode "hybrid+tree" three rankings are fused: passages by vectors, passages by BM25, nodes. A
    node also has, in each ranking of passages, the rank of the best passage that shares text with
    it.

    Parameters
    ----------
    index : where to search; it has trees
    encoder : gives the index's own encoder
    tree_encoder : gives the encoder of the trees, the same one unless it was trained further
    mode : of TREE_MODES
    """

    def __init__(
        self,
        index: Index,
        encoder: Callable[[], Embedder],
        tree_encoder: Callable[[], Embedder] | None = None,
        *,
        mode: str = "tree",
        top_k: int = RETRIEVE.top_k,
        rrf_k: float = RETRIEVE.rrf_k,
        depth: int | None = None,
        options: TreeOptions | None = None,
    ) -> None:
        super().__init__(index, encoder, mode="hybrid", top_k=top_k, rrf_k=rrf_k, depth=depth)
        self._mode = mode
        self._load_tree_encoder = tree_encoder
        self._options = options or TreeOptions()

    @property
    def _flat(self) -> bool:
        """Whether passages are searched, too."""
        by_passages = self._options.documents > 0 and self._options.pool == "flat"
        return self._mode == "hybrid+tree" or by_passages

    @cached_property
    def _search_trees(self) -> TreeSearch:
        options = self._options
        return TreeSearch(self._index.trees, beam=options.beam, threshold=options.threshold)

    @cached_property
    def _tree_encoder(self) -> Embedder | None:
        """None where it is the index's own."""
        return self._load_tree_encoder() if self._load_tree_encoder else None

    def _load(self) -> None:
        _ = self._search_trees
        if self._flat:
            _ = self._index.sparse
        if self._index.manifest.passages:
            _ = self._index.dense, self._encoder.dimension
            _ = self._tree_encoder and self._tree_encoder.dimension

    def _search(self, questions: list[str]) -> list[list[Record]]:
        if not questions or not len(self._index.trees):
            return [[] for _ in questions]
        vectors = self._encoder.embed(questions)
        lists = self._rankings(questions, vectors) if self._flat else []
        if self._tree_encoder:
            vectors = self._tree_encoder.embed(questions)
        found = self._candidates(unit(vectors), lists)
        if self._mode == "tree":
            return [self._nodes(candidates) for candidates in found]
        pairs = zip(found, lists, strict=True)
        return [self._fused(candidates, *rankings) for candidates, rankings in pairs]

    def _candidates(
        self, questions: Vectors, lists: Sequence[tuple[Ranking, Ranking]]
    ) -> list[Candidates]:
        """What the beams find, in all trees or in those of a pool of documents."""
        options, search = self._options, self._search_trees
        if not options.documents or options.documents >= len(self._index.trees):
            return search.everywhere(questions)
        if options.pool == "roots":
            return search.within(questions, search.roots(questions, options.documents))
        return search.within(questions, [self._pool(*rankings) for rankings in lists])

    def _pool(self, dense: Ranking, sparse: Ranking) -> list[int]:
        """The documents of the best passages of both rankings, fused."""
        rankings = [dense.positions.tolist(), sparse.positions.tolist()]
        scores, order = reciprocal_ranks(rankings, self._rrf_k), self._index.order
        best = sorted(scores, key=lambda position: (-scores[position], order[position]))
        documents = dict.fromkeys(int(self._index.trees.of_passages[p]) for p in best)
        return list(documents)[: self._options.documents]

    def _distinct(self, candidates: Iterable[Node]) -> Iterator[Node]:
        """Best first, as --nested asks."""
        if self._options.nested == "keep":
            return iter(candidates)
        return without_nested((node, node.document, self._spans(node)) for node in candidates)

    def _spans(self, node: Node) -> list[Span]:
        return self._index.trees.tree(node.document).spans(node.node)

    def _nodes(self, candidates: Candidates) -> list[Record]:
        best = islice(self._distinct(candidates), self._top_k)
        return [
            self._index.trees.context(node.document, node.node, {"score": node.score, "rank": rank})
            for rank, node in enumerate(best, start=1)
        ]

    def _fused(self, candidates: Candidates, dense: Ranking, sparse: Ranking) -> list[Record]:
        """The best of passages and nodes by reciprocal ranks."""
        nodes = list(islice(self._distinct(candidates), self._depth))
        flat = {"dense": dense.positions.tolist(), "sparse": sparse.positions.tolist()}
        spans = self._spans_of({p for positions in flat.values() for p in positions})
        ranks: dict[Any, dict[str, int]] = {}
        for name, positions in flat.items():
            for rank, position in enumerate(positions, start=1):
                ranks.setdefault(position, {})[f"{name}_rank"] = rank
        for rank, node in enumerate(nodes, start=1):
            ranks[node] = {"tree_rank": rank, **self._borrowed(node, flat, spans)}
        scores = {
            item: round(sum(1 / (self._rrf_k + rank) for rank in own.values()), SCORE_DECIMALS)
            for item, own in ranks.items()
        }
        best = sorted(scores, key=lambda item: (-scores[item], self._tie(item)))
        placed = ((item, *self._place(item, spans)) for item in best)
        chosen = iter(best) if self._options.nested == "keep" else without_nested(placed)
        return [
            self._context(item, {"score": scores[item], "rank": rank, **ranks[item]})
            for rank, item in enumerate(islice(chosen, self._top_k), start=1)
        ]

    def _borrowed(
        self, node: Node, flat: dict[str, list[int]], spans: dict[int, Span]
    ) -> dict[str, int]:
        """The rank in each list of the best passage that shares text with a node."""
        own, documents = self._spans(node), self._index.trees.of_passages
        found = {}
        for name, positions in flat.items():
            for rank, position in enumerate(positions, start=1):
                if documents[position] != node.document:
                    continue
                start, end = spans[position]
                if any(first < end and start < last for first, last in own):
                    found[f"{name}_rank"] = rank
                    break
        return found

    def _spans_of(self, positions: set[int]) -> dict[int, Span]:
        """Where passages stand in their documents."""
        found = {}
        for position in positions:
            stored = self._index.stored(position)
            whole = stored["part"] is None
            found[position] = (
                (0, len(stored["text"])) if whole else (stored["start"], stored["end"])
            )
        return found

    def _place(self, item: Node | int, spans: dict[int, Span]) -> tuple[int, list[Span]]:
        if isinstance(item, Node):
            return item.document, self._spans(item)
        return int(self._index.trees.of_passages[item]), [spans[item]]

    def _tie(self, item: Node | int) -> tuple[int, int, int]:
        """Nodes before passages of a document, documents by id."""
        order = self._index.trees.order
        if isinstance(item, Node):
            return int(order[item.document]), 0, item.node
        return int(order[self._index.trees.of_passages[item]]), 1, item

    def _context(self, item: Node | int, found: Record) -> Record:
        if isinstance(item, Node):
            scored = {**found, "tree_score": item.score}
            return self._index.trees.context(item.document, item.node, scored)
        return self._index.context(item, found)
