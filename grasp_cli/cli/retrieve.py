"""`grasp retrieve`: questions to passages."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grasp_cli.cli.index_options import DenseModel
from grasp_cli.cli.job import job
from grasp_cli.cli.options import (
    DEFAULT_INDEX,
    Check,
    IndexDirectory,
    Latency,
    Profile,
    Stream,
    Threads,
    fair_threads,
    run,
)
from grasp_cli.defaults import RETRIEVE, TREE
from grasp_cli.pipe.engine import Stage
from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.pipe.manifest import Recipe

if TYPE_CHECKING:
    from grasp_cli.models.cross_encoder import CrossEncoder
    from grasp_cli.retrieval.tree.retriever import TreeOptions


class Mode(str, Enum):
    """Which search."""

    hybrid = "hybrid"
    dense = "dense"
    sparse = "sparse"
    tree = "tree"
    hybrid_tree = "hybrid+tree"


class Nested(str, Enum):
    """What becomes of a node that holds, or lies in, a better one."""

    drop = "drop"
    keep = "keep"


class Pool(str, Enum):
    """What chooses the documents whose trees are searched."""

    flat = "flat"
    roots = "roots"


class Fusion(str, Enum):
    """How two rankings become one."""

    rrf = "rrf"
    weighted = "weighted"


TopK = Annotated[int, typer.Option("-k", "--top-k", min=1, help="Passages per question.")]
RrfK = Annotated[
    float, typer.Option("--rrf-k", min=0, help="κ of reciprocal rank fusion, Σ 1/(κ + rank).")
]
Depth = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default=False,
        help=f"Passages of each search that are fused (default: {RETRIEVE.depth}, 10 k if more).",
    ),
]
FusionOption = Annotated[
    Fusion,
    typer.Option(
        "--fusion", help="rrf: reciprocal ranks; weighted: scores, each list's brought to 0 … 1."
    ),
]
FusionWeight = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of the dense scores in --fusion weighted."),
]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="Vectors, BM25, or both fused (hybrid); nodes of trees of an index --with-tree, "
        "alone or fused with both.",
    ),
]
TreeDocs = Annotated[
    int, typer.Option(min=0, help="Documents whose trees are searched (0: all of the index).")
]
TreePool = Annotated[
    Pool,
    typer.Option(
        "--tree-pool",
        help="How these are chosen: by their best passages (flat), or by the roots of their trees.",
    ),
]
Beam = Annotated[int, typer.Option(min=1, help="Nodes of a tree that go on to the next level.")]
NodeThreshold = Annotated[
    float | None,
    typer.Option(show_default="none", help="Least cosine of a node with the question."),
]
NestedOption = Annotated[
    Nested,
    typer.Option("--nested", help="What becomes of a node that holds, or lies in, a better one."),
]
Question = Annotated[
    str | None,
    typer.Option("-q", "--question", show_default=False, help="One question instead of records."),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="NAME|PATH",
        show_default=False,
        help="A cross-encoder that reads question and passage together and puts the best first.",
    ),
]
RerankDepth = Annotated[
    int, typer.Option(min=1, help="Passages that --rerank reads per question (at least k).")
]
IndexProfile = Annotated[
    Profile | None,
    typer.Option(
        "--profile",
        envvar="GRASP_PROFILE",
        show_default=False,
        help="Refuse an index of another profile (default: the index decides).",
    ),
]
_MODE = Mode(RETRIEVE.mode)
_FUSION = Fusion(RETRIEVE.fusion)
_POOL = Pool(TREE.pool)
_NESTED = Nested(TREE.nested)
_TREE_MODES = (Mode.tree.value, Mode.hybrid_tree.value)


# The index stands in the manifest by its content, models by their weights.
_FREE = ("threads", "directory", "profile", "dense_model", "rerank")


@job(free=_FREE, instead="question")
def retrieve(
    stream: Stream,
    directory: IndexDirectory = DEFAULT_INDEX,
    top_k: TopK = RETRIEVE.top_k,
    rrf_k: RrfK = RETRIEVE.rrf_k,
    depth: Depth = None,
    fusion: FusionOption = _FUSION,
    fusion_weight: FusionWeight = RETRIEVE.fusion_weight,
    mode: ModeOption = _MODE,
    rerank: Rerank = None,
    rerank_depth: RerankDepth = RETRIEVE.rerank_depth,
    tree_docs: TreeDocs = TREE.documents,
    tree_pool: TreePool = _POOL,
    beam: Beam = TREE.beam,
    node_threshold: NodeThreshold = None,
    nested: NestedOption = _NESTED,
    question: Question = None,
    dense_model: DenseModel = None,
    profile: IndexProfile = None,
    latency: Latency = False,
    threads: Threads = None,
) -> None:
    """Add the best passages of an index to each question, as `contexts`.

    grasp retrieve questions.jsonl -k 10 > retrieved.jsonl

    grasp retrieve -q "Who led the survey?" | grasp compress | grasp answer

    grasp retrieve questions.jsonl --rerank cross-encoder/ms-marco-MiniLM-L-6-v2

    grasp retrieve questions.jsonl --mode tree --tree-docs 10
    """
    stage = stage_of(
        directory,
        fair_threads(threads),
        stream.say,
        top_k=top_k,
        rrf_k=rrf_k,
        depth=depth,
        fusion=fusion.value,
        fusion_weight=fusion_weight,
        mode=mode.value,
        rerank=rerank,
        rerank_depth=rerank_depth,
        tree_docs=tree_docs,
        tree_pool=tree_pool.value,
        beam=beam,
        node_threshold=node_threshold,
        nested=nested.value,
        dense_model=dense_model,
        profile=profile and profile.value,
    )

    def recipe(check: Check) -> Recipe:
        from grasp_cli.retrieval.store import Manifest

        made = Manifest.read(directory)
        models = {"dense": {key: made.model[key] for key in ("name", "sha256")}}
        if stream.dry_run and mode is not Mode.sparse:
            check(dense_model or str(made.model["name"]))  # whether it is here
        if rerank:
            models["rerank"] = check(rerank)
        return stream.recipe({}, models, made.content)

    records = [{"id": "q1", "question": question}] if question is not None else None
    run(stage, stream, records, recipe)


def stage_of(
    directory: Path,
    cores: int,
    say: Callable[[str], None],
    *,
    mode: str,
    top_k: int,
    rerank: str | None,
    rerank_depth: int,
    dense_model: str | None,
    profile: str | None,
    **search: Any,
) -> Stage:
    """The stage that searches the index at `directory`; `search` as the options of the verb."""
    from grasp_cli.retrieval.model import encoder_of
    from grasp_cli.retrieval.retriever import Retriever
    from grasp_cli.retrieval.store import Index

    index = Index(directory, cores)
    _refuse_profile(profile, index.manifest.profile, directory)
    cross_encoder = _cross_encoder(rerank, cores, say) if rerank else None
    drop_nested = search["nested"] == Nested.drop.value and mode in _TREE_MODES
    if cross_encoder and drop_nested:
        search["nested"] = Nested.keep.value  # what is nested is dropped after it has read
    encoder = partial(encoder_of, index, dense_model, cores)
    shared: dict[str, Any] = {
        "mode": mode,
        "top_k": max(top_k, rerank_depth) if cross_encoder else top_k,
        "rrf_k": search["rrf_k"],
        "depth": search["depth"],
    }
    if mode in _TREE_MODES:
        _ = index.trees  # an index without trees is said before anything is read
        from grasp_cli.retrieval.tree.models import question_encoder
        from grasp_cli.retrieval.tree.retriever import TreeRetriever

        own = question_encoder(index, dense_model, cores)
        stage: Retriever = TreeRetriever(
            index, encoder, own, options=_tree_options(mode, search), **shared
        )
    else:
        fusion = {name: search[name] for name in ("fusion", "fusion_weight")}
        stage = Retriever(index, encoder, **shared, **fusion)
    if cross_encoder is None:
        return stage
    from grasp_cli.retrieval.rerank import Reranker
    from grasp_cli.retrieval.tree.nesting import distinct_contexts

    choose = distinct_contexts if drop_nested else iter
    titles = index.manifest.index_title
    return Reranker(stage, cross_encoder, top_k, titles=titles, choose=choose)


def _tree_options(mode: str, search: dict[str, Any]) -> TreeOptions:
    from grasp_cli.retrieval.tree.retriever import TreeOptions

    if search["fusion"] != RETRIEVE.fusion:
        raise UsageError(f"--mode {mode} fuses by ranks: leave --fusion out")
    names = ("tree_docs", "tree_pool", "beam", "node_threshold", "nested")
    return TreeOptions(*(search[name] for name in names))


def _cross_encoder(name: str, threads: int, say: Callable[[str], None]) -> CrossEncoder:
    """The model of --rerank, found but not loaded; it computes in float32, wherever it runs."""
    from grasp_cli.models.cross_encoder import CrossEncoder
    from grasp_cli.models.locate import find
    from grasp_cli.models.placement import place

    path = find(name)
    placement = place(dtype="float32")
    say(f"{path.name} on {placement}")
    return CrossEncoder(path, threads=threads, dtype=placement.dtype, device=placement.device)


def _refuse_profile(asked: str | None, made: str, directory: object) -> None:
    if asked is not None and asked != made:
        raise ProcessingError(
            f"{directory}: an index of profile {made}, not {asked}; make it again: "
            f"grasp index DOCUMENTS.jsonl -x {directory} --profile {asked}"
        )
