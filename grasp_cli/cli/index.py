"""`grasp index`: documents to an index directory, and what else is done with one."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grasp_cli.cli import index_options as given
from grasp_cli.cli.options import (
    DEFAULT_INDEX,
    DEFAULT_PROFILE,
    AllowEmpty,
    Dtype,
    IndexDirectory,
    Inputs,
    OnError,
    OnErrorOption,
    Profile,
    ProfileOption,
    Quarantine,
    Quiet,
    Stream,
    Threads,
    bad_line_handler,
    fair_threads,
    refuse_empty,
)
from grasp_cli.cli.plan import DryRun
from grasp_cli.defaults import INDEX, TREE
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.log import LOG, is_terminal
from grasp_cli.pipe.progress import watching
from grasp_cli.pipe.sources import inputs_or_stdin, read_documents, read_lines

if TYPE_CHECKING:
    from grasp_cli.retrieval.model import LateEncoder
    from grasp_cli.retrieval.settings import Settings
    from grasp_cli.retrieval.store import Index, Manifest
    from grasp_cli.retrieval.tree.building import TreeBuilder
    from grasp_cli.retrieval.tree.settings import TreeSettings
    from grasp_cli.retrieval.writer import Built

BM25_OF = {Profile.embedded: given.Bm25.lucene, Profile.paper: given.Bm25.okapi}
_STOP_WORDS = given.StopWords(INDEX.stop_words)
_STEM = given.Stem(INDEX.stem)
_DTYPE = Dtype(INDEX.dtype)
_DENSE_DTYPE = given.DenseDtype(INDEX.dense_dtype)
_ANN = given.Ann(INDEX.ann)
_MERGE = given.Merge(TREE.merge)
_TREE_OPTIONS = ("tree", "merge", "chunk_sentences", "tree_weights")


def index(
    context: typer.Context,
    inputs: Inputs = None,
    directory: IndexDirectory = DEFAULT_INDEX,
    append: given.Append = False,
    delete_ids: given.DeleteIds = None,
    resume: given.Resume = False,
    verify: given.Verify = False,
    stats: given.Stats = False,
    passage_words: given.PassageWords = INDEX.passage_words,
    passage_overlap: given.PassageOverlap = INDEX.passage_overlap,
    index_title: given.IndexTitle = INDEX.index_title,
    bm25: given.Bm25Option = None,
    stop_words: given.StopWordsOption = _STOP_WORDS,
    stem: given.StemOption = _STEM,
    dense_model: given.DenseModel = None,
    dtype: given.DtypeOption = _DTYPE,
    dense_dtype: given.DenseDtypeOption = _DENSE_DTYPE,
    ann: given.AnnOption = _ANN,
    with_tree: given.WithTree = False,
    tree: given.Tree = None,
    merge: given.MergeOption = _MERGE,
    chunk_sentences: given.ChunkSentences = TREE.chunk_sentences,
    tree_weights: given.TreeWeights = None,
    profile: ProfileOption = DEFAULT_PROFILE,
    threads: Threads = None,
    allow_empty: AllowEmpty = False,
    on_error: OnErrorOption = OnError.fail,
    quarantine: Quarantine = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Make an index of documents, one JSON object {id, title?, text, …} a line.

    The index appears, or replaces the one that was there, only when it is complete. A build that
    was interrupted goes on with --resume.

    grasp index documents.jsonl

    zcat corpus.jsonl.gz | grasp index -x wiki_index --passage-words 100

    grasp index --append more.jsonl --delete-ids withdrawn.txt

    grasp index --with-tree long_documents.jsonl
    """
    from grasp_cli.retrieval.workplace import interrupted

    if verify or stats:
        _look(directory, inputs, verify=verify, stats=stats, quiet=quiet)
        return
    choices = {
        "bm25": (bm25 or BM25_OF[profile]).value,
        "stop_words": stop_words.value,
        "stem": stem.value,
        "dtype": dtype.value,
        "dense_dtype": dense_dtype.value,
        "ann": ann.value,
        "passage_words": passage_words,
        "passage_overlap": passage_overlap,
        "index_title": index_title,
        "profile": profile.value,
        "with_tree": with_tree,
        "tree": tree.value if tree else None,
        "merge": merge.value,
        "chunk_sentences": chunk_sentences,
        "tree_weights": tree_weights,
    }
    changes = append or delete_ids is not None
    if not (with_tree or changes):
        _refuse_tree_options(context)
    files = [] if delete_ids and not inputs else inputs_or_stdin(inputs, "index")
    stream = Stream("index", files, directory, None, allow_empty, on_error, quarantine, quiet)
    cores = fair_threads(threads)
    plan = (
        _change(context, directory, choices, dense_model, cores)
        if changes
        else new_plan(directory, choices, dense_model, cores)
    )
    if dry_run:
        _show_plan(stream, plan)
        return
    if files:
        _ = plan.encoder.found, plan.trees()  # a missing model is said before anything is read
    started, kept = time.perf_counter(), interrupted(directory)
    if kept and not resume:
        stream.say(
            f"starting over: {kept} passages of an interrupted build go (--resume keeps them)"
        )
    built = _build(stream, directory, plan, _ids(delete_ids), resume, cores)
    for line in _told(built, plan.base):
        stream.say(line)
    stream.say(f"{_size(built.manifest)}, {time.perf_counter() - started:.1f} s: {directory}")
    if stream.bad_lines:
        stream.say(f"{len(stream.bad_lines)} unreadable lines left out")
        raise typer.Exit(7)


def _show_plan(stream: Stream, plan: Plan) -> None:
    from grasp_cli.cli.plan import show

    settings = {**vars(plan.settings), **vars(plan.settings.tokenizer)}
    with ExitStack() as stack:
        count = show(
            read_documents(stream.inputs, bad_line_handler(stream, stack)),
            inputs=stream.inputs,
            output=stream.output,
            models={"dense": plan.settings.model},
            local={plan.settings.model},
            resolved={**settings, "dense_model": plan.settings.model},
        )
    if stream.inputs:
        refuse_empty(count, stream)


@dataclass(frozen=True)
class Plan:
    """What is built with what; `base` is the index that is changed."""

    settings: Settings
    encoder: LateEncoder
    trees: Callable[[], TreeBuilder | None]
    base: Index | None = None


def _refuse_tree_options(context: typer.Context) -> None:
    """Raise `UsageError` where options of trees are typed without --with-tree."""
    for name in _TREE_OPTIONS:
        if _typed(context, name):
            raise UsageError(f"--{name.replace('_', '-')} is of trees: add --with-tree")


def _typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, and does not come from the environment or a file."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _tree_settings(choices: dict[str, Any]) -> TreeSettings | None:
    """The settings of trees, which `choices` loses."""
    from grasp_cli.models.tree_weights import TreeWeights
    from grasp_cli.retrieval.tree.settings import TreeSettings

    kind, merge, sentences, weights = (choices.pop(name) for name in _TREE_OPTIONS)
    if not choices.pop("with_tree"):
        return None
    if weights and kind == "embedding":
        raise UsageError("--tree-weights are weights of attention: leave --tree embedding out")
    kind = kind or ("attention" if weights else TREE.kind)
    sha256 = TreeWeights(Path(weights)).sha256 if weights else None
    return TreeSettings(kind, merge, sentences, sha256)


def new_plan(directory: Path, choices: dict[str, Any], dense_model: str | None, cores: int) -> Plan:
    """A new index in place of whatever index is there."""
    from grasp_cli.models.dtype import choose_dtype
    from grasp_cli.models.locate import find
    from grasp_cli.models.profiles import model_for
    from grasp_cli.retrieval.model import (
        LateEncoder,
        load_encoder,
        portable_name,
        weights_sha256,
    )
    from grasp_cli.retrieval.settings import Settings
    from grasp_cli.retrieval.tokens import Tokenizer
    from grasp_cli.retrieval.tree.models import tree_builder
    from grasp_cli.retrieval.workplace import refuse_other

    refuse_other(directory)
    model = dense_model or model_for(choices["profile"], "dense")
    path = find(model)
    dtype = str(choose_dtype(choices["dtype"], "cpu")).removeprefix("torch.")
    chosen, weights = {**choices, "dtype": dtype}, choices["tree_weights"]
    tree = _tree_settings(chosen)
    tokenizer = Tokenizer(chosen.pop("stop_words"), chosen.pop("stem"))
    settings = Settings(
        portable_name(model), weights_sha256(path), tokenizer=tokenizer, tree=tree, **chosen
    )
    return Plan(
        settings,
        LateEncoder(lambda: load_encoder(path, "document", dtype, cores)),
        _once(lambda: tree_builder(path, settings, Path(weights) if weights else None, cores)),
    )


def _once(make: Callable[[], TreeBuilder | None]) -> Callable[[], TreeBuilder | None]:
    return lru_cache(maxsize=1)(make)


def _change(
    context: typer.Context,
    directory: Path,
    choices: dict[str, Any],
    dense_model: str | None,
    cores: int,
) -> Plan:
    """The index that is there, with its settings; `UsageError` where others are asked for."""
    from grasp_cli.retrieval.model import LateEncoder, encoder_of, model_path_of
    from grasp_cli.retrieval.store import Index
    from grasp_cli.retrieval.tree.models import tree_builder, weights_of

    base = Index(directory, cores)
    settings = base.manifest.settings
    made = {**vars(settings), **vars(settings.tokenizer), **_made_trees(settings)}
    for name, asked in choices.items():
        if name == "tree_weights" and asked:
            from grasp_cli.models.tree_weights import TreeWeights

            asked = TreeWeights(asked).sha256
        if _typed(context, name) and asked not in (made[name], "auto"):
            option = "--" + name.replace("_", "-")
            if name == "with_tree":
                raise UsageError(
                    f"{directory}: this index was made without trees, and keeps its settings; "
                    "leave --with-tree out, or make the index again"
                )
            raise UsageError(
                f"{directory}: this index was made with {option} {made[name]}, not {asked}, and "
                f"keeps its settings; leave {option} out, or make the index again"
            )
    encoder = LateEncoder(lambda: encoder_of(base, dense_model, cores, "document"))

    def trees() -> TreeBuilder | None:
        if settings.tree is None:
            return None
        return tree_builder(model_path_of(base, dense_model), settings, weights_of(base), cores)

    return Plan(settings, encoder, _once(trees), base)


def _made_trees(settings: Settings) -> dict[str, Any]:
    """What an index was made with, by the options of trees."""
    tree = settings.tree
    values = (tree.kind, tree.merge, tree.chunk_sentences, tree.weights) if tree else [None] * 4
    return {"with_tree": tree is not None, **dict(zip(_TREE_OPTIONS, values, strict=True))}


def _build(
    stream: Stream, directory: Path, plan: Plan, delete: set[str], resume: bool, cores: int
) -> Built:
    from grasp_cli.retrieval.workplace import BusyError, interrupted
    from grasp_cli.retrieval.writer import build

    with ExitStack() as stack:
        progress = stack.enter_context(watching(stream.inputs))
        handler = bad_line_handler(stream, stack)
        read = read_documents(stream.inputs, handler, progress.took)
        documents = progress.reading(read, as_done=True)
        first = list(islice(documents, 1))
        if stream.inputs:
            refuse_empty(len(first), stream)
        try:
            return build(
                chain(first, documents),
                directory,
                plan.settings,
                plan.encoder,
                lambda text: setattr(progress, "status", text),
                base=plan.base,
                delete=delete,
                resume=resume,
                threads=cores,
                trees=plan.trees() if stream.inputs else None,
            )
        except BusyError:
            raise
        except BaseException:
            if kept := interrupted(directory):
                stream.say(f"{kept} passages are kept: the same command and --resume goes on there")
            raise


def _ids(path: Path | None) -> set[str]:
    """The ids in a file, one a line."""
    if path is None:
        return set()
    return {line.decode("utf-8", "replace") for _, line in read_lines(path)}


def _told(built: Built, base: Index | None) -> Iterator[str]:
    """What is worth saying of a build besides its size."""
    if built.resumed:
        yield f"went on from {built.resumed} passages of the interrupted build"
    if base is not None:
        new = built.manifest.documents - base.manifest.documents + built.deleted
        yield f"{new} added, {built.replaced} replaced, {built.deleted} deleted"
    if built.unknown:
        yield f"{built.unknown} of the ids to delete are not in the index"
    ann = built.manifest.ann
    if ann and "recall" in ann:
        recall = ann["recall"]
        yield (
            f"{ann['kind']}: recall@{recall['k']} is {recall['value']:.3f} "
            f"on {recall['questions']} first sentences of passages"
        )
    elif ann:
        yield f"{ann['asked']} begins at {ann['exact_below']} passages: search is exact"


def _size(manifest: Manifest) -> str:
    blank = f" ({manifest.empty} without text)" if manifest.empty else ""
    trees = f", {manifest.tree['nodes']} nodes of trees" if manifest.tree else ""
    return f"{manifest.documents} documents{blank}, {manifest.passages} passages{trees}"


def _look(
    directory: Path, inputs: list[Path] | None, *, verify: bool, stats: bool, quiet: bool
) -> None:
    """`--verify` and `--stats`, which read no documents."""
    from grasp_cli.report.tables import for_terminal, plain
    from grasp_cli.retrieval.stats import stats as table_of
    from grasp_cli.retrieval.store import Index
    from grasp_cli.retrieval.verify import verify as check

    if inputs:
        raise UsageError("--verify and --stats read no documents: leave FILE out, or the option")
    if stats:
        table = table_of(Index(directory))
        drawn = plain(table)
        if is_terminal(sys.stdout):
            drawn = for_terminal(table, shutil.get_terminal_size().columns)
        typer.echo(drawn, nl=False)
    if verify:
        files, size = check(directory)
        if not quiet:
            LOG.say(f"{files} files, {size / 1e6:.1f} MB, all whole: {directory}")
