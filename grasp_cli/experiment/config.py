"""What an experiment is, and how a TOML file states it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grasp_cli.defaults import EXPERIMENT, PROFILE
from grasp_cli.experiment.tables import Table, read_toml, refuse_near, refuse_unknown
from grasp_cli.formats.hub import is_reference
from grasp_cli.pipe.errors import UsageError

Options = Mapping[str, Any]
# Checks options that a verb has on its command line: (verb, options, where) -> by parameter name.
Check = Callable[[str, Options, str], dict[str, Any]]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_TOP = (
    "profile",
    "top-k",
    "limit",
    "baseline",
    "index",
    "retrieve",
    "reader",
    "datasets",
    "methods",
)
_DATASET = (
    "name", "questions", "documents", "format", "split", "limit", "sample", "seed", "pool", "top-k",
)  # fmt: skip
_METHOD = ("name", "method", "options", "datasets")


@dataclass(frozen=True)
class Dataset:
    """Questions, and where their contexts come from.

    With `documents` (or with `pool`, which takes the contexts of all its questions together) they
    are retrieved; otherwise the questions carry them.
    """

    name: str
    questions: Path
    documents: Path | None = None
    format: str | None = None  # of `questions`; None: as the file looks
    split: str | None = None  # the part of a dataset that comes in several
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    pool: bool = False
    top_k: int | None = None  # contexts that stay; None: the experiment's if retrieved, else all

    @property
    def retrieves(self) -> bool:
        """Whether contexts are retrieved; in a directory, a corpus lies beside the questions."""
        return self.documents is not None or self.pool or self.questions.is_dir()


@dataclass(frozen=True)
class Method:
    """A compression method under a name of its own, with options as of `grasp compress`."""

    name: str
    method: str
    given: Options = field(default_factory=dict)  # as written, for comparison and display
    choices: Options = field(default_factory=dict)  # all of them, checked, by parameter name
    datasets: Sequence[str] | None = None  # the only ones that it runs on; None: all


@dataclass(frozen=True)
class Chosen:
    """Options of another verb: as written, and all of them, checked, by parameter name."""

    given: Options = field(default_factory=dict)
    choices: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """Datasets × methods × reader."""

    path: Path
    datasets: Sequence[Dataset]
    methods: Sequence[Method]
    reader: Chosen | None = None
    profile: str = PROFILE
    top_k: int = EXPERIMENT.top_k
    baseline: str | None = None  # the name of a method
    index: Chosen = field(default_factory=Chosen)
    retrieve: Chosen = field(default_factory=Chosen)


def read_config(path: Path, check: Check, limit: int | None = None) -> Experiment:
    """The experiment that a file states; `limit` replaces every limit in it.

    Paths in it are relative to the file. Raises `UsageError` for what is unknown, missing or
    contradicts itself.
    """
    top = Table(read_toml(path), str(path), _TOP)
    profile = top.get("profile", str) or PROFILE
    if profile not in ("embedded", "paper"):
        raise UsageError(f"{path}: profile must be embedded or paper, not {profile}")
    limit_of_all = top.count("limit")
    datasets = [
        _dataset(values, f"{path}: datasets[{number}]", path.parent, limit_of_all, limit)
        for number, values in enumerate(_list(top, "datasets"), start=1)
    ]
    methods = [
        _method(values, f"{path}: methods[{number}]", profile, check)
        for number, values in enumerate(_list(top, "methods"), start=1)
    ]
    names = [dataset.name for dataset in datasets]
    _refuse_equal(names, f"{path}: datasets")
    for method in methods:
        refuse_unknown(method.datasets or (), names, f"{path}: datasets of method {method.name}")
    _refuse_equal([method.name for method in methods], f"{path}: methods")
    return Experiment(
        path,
        datasets,
        methods,
        _reader(top, profile, check),
        profile,
        top.count("top-k", EXPERIMENT.top_k) or EXPERIMENT.top_k,
        _baseline(top, methods),
        _options(top, "index", profile, check),
        _options(top, "retrieve", profile, check, {"top-k": EXPERIMENT.retrieve}),
    )


def _list(table: Table, key: str) -> list[Any]:
    values = table.values.get(key)
    if not isinstance(values, list) or not values:
        raise UsageError(f"{table.where}: {key} must be a list of at least one")
    return values


def _dataset(
    values: Any, where: str, root: Path, limit_of_all: int | None, limit: int | None
) -> Dataset:
    table = Table(values, where, _DATASET)
    name = _name(table)
    documents = table.get("documents", str)
    pool = table.get("pool", bool, False) or False
    if pool and documents:
        raise UsageError(f"{where}: pool and documents contradict each other: leave one out")
    return Dataset(
        name,
        _path(root, table.need("questions", str)),
        _path(root, documents) if documents else None,
        _format(table),
        table.get("split", str),
        limit or table.count("limit", limit_of_all),
        table.count("sample"),
        table.get("seed", int, 0) or 0,
        pool,
        table.count("top-k"),
    )


def _path(root: Path, given: str) -> Path:
    """A file, relative to where the config is; a dataset of the hub (hf:…) stays as it is."""
    path = Path(given)
    return path if is_reference(path) else root / path.expanduser()


def _format(table: Table) -> str | None:
    from grasp_cli.formats import FORMATS

    name = table.get("format", str)
    if name is not None:
        refuse_unknown([name], FORMATS, f"{table.where}: format")
    return name


def _method(values: Any, where: str, profile: str, check: Check) -> Method:
    from grasp_cli.compression.methods import METHODS

    table = Table({"name": values} if isinstance(values, str) else values, where, _METHOD)
    name = _name(table)
    method = table.get("method", str) or name
    refuse_unknown([method], METHODS, f"{where}: method")
    given = table.get("options", dict) or {}
    fixed = {"method": method, "profile": profile}
    choices = check("compress", {**_dashed(given, fixed, where), **fixed}, f"{where}: options")
    only = table.get("datasets", list)
    return Method(
        name, method, _dashed(given, fixed, where), choices, only and [str(one) for one in only]
    )


def _reader(top: Table, profile: str, check: Check) -> Chosen | None:
    """`name` and `model` are short for reader and reader-model."""
    values = top.values.get("reader")
    if values is None:
        return None
    where = f"{top.where}: reader"
    if not isinstance(values, Mapping):
        raise UsageError(f'{where}: must be a table, as in [reader] with name = "ollama"')
    long = {"name": "reader", "model": "reader-model"}
    refuse_near(values, long, where)
    given = {long.get(key, key): value for key, value in _dashed(values, (), where).items()}
    if "compare" in given:
        raise UsageError(f"{where}: compare has no place here: method none has the full contexts")
    return Chosen(given, check("answer", {"profile": profile, **given}, where))


def _options(
    top: Table, key: str, profile: str, check: Check, defaults: Options | None = None
) -> Chosen:
    where = f"{top.where}: {key}"
    given = {**(defaults or {}), **_dashed(top.get(key, dict) or {}, ("profile",), where)}
    return Chosen(given, check(key, {**given, "profile": profile}, where))


def _dashed(values: Options, elsewhere: Any, where: str) -> dict[str, Any]:
    """Keys as on the command line; those that are stated elsewhere are refused."""
    dashed = {str(key).replace("_", "-"): value for key, value in values.items()}
    for key in elsewhere:
        if key in dashed:
            raise UsageError(f"{where}: {key} is stated once, outside of the options")
    return dashed


def _baseline(top: Table, methods: Sequence[Method]) -> str | None:
    name = top.get("baseline", str)
    names = [method.name for method in methods]
    if name is not None:
        refuse_unknown([name], names, f"{top.where}: baseline")
        return name
    return next((method.name for method in methods if method.method == "none"), None)


def _name(table: Table) -> str:
    name = table.need("name", str)
    if not _NAME.fullmatch(name):
        raise UsageError(f'{table.where}: name "{name}": letters, digits and . _ + - name a file')
    return name


def _refuse_equal(names: Sequence[str], where: str) -> None:
    """Names become file names, which some systems do not tell apart by case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise UsageError(f'{where}: the name "{name}" comes twice; give one of them another')
        seen.add(name.lower())
