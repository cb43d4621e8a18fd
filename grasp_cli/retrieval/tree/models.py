"""The encoders of trees: of an index that is made, and of the questions to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grasp_cli.models.chunk_encoder import ChunkEncoder
from grasp_cli.models.tree_weights import TreeWeights
from grasp_cli.retrieval.dense import Embedder
from grasp_cli.retrieval.model import load_encoder, model_path_of, prompt_of
from grasp_cli.retrieval.settings import Settings
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree.building import TreeBuilder
from grasp_cli.retrieval.tree.settings import WEIGHTS


def tree_builder(
    path: Path, settings: Settings, weights: Path | None = None, threads: int | None = None
) -> TreeBuilder | None:
    """What makes the trees of an index with those settings, not loaded yet; None without trees.

    Parameters
    ----------
    path : of the index's encoder
    weights : the directory of trained weights

    Raises `ProcessingError` where the weights are those of another encoder.
    """
    if settings.tree is None:
        return None
    trained = TreeWeights(weights) if weights else None
    if trained:
        trained.refuse_other(settings.model, settings.sha256)
    encoder = ChunkEncoder(
        path,
        attention=settings.tree.kind == "attention",
        weights=trained,
        prompt=prompt_of(path, "document"),
        threads=threads,
        dtype=settings.dtype,
    )
    return TreeBuilder(settings.tree, encoder, titles=settings.index_title, weights=weights)


def weights_of(index: Index) -> Path | None:
    """The trained weights that an index keeps."""
    settings = index.manifest.settings.tree
    return index.directory / WEIGHTS if settings and settings.weights else None


def question_encoder(
    index: Index, given: str | None = None, threads: int | None = None
) -> Callable[[], Embedder] | None:
    """What gives the encoder of questions to trees; None where it is the index's own.

    `given` is a name or path of the encoder in place of the stored one.
    """
    weights = weights_of(index)
    if weights is None or not TreeWeights(weights).tunes_encoder:
        return None
    trained, dtype = TreeWeights(weights), index.manifest.model["dtype"]
    return lambda: load_encoder(model_path_of(index, given), "query", dtype, threads, trained)
