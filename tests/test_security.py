"""No code from data or models: what the source says, and what a hostile file can do."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import grasp_cli
from grasp_cli.pipe.errors import GraspError

SOURCES = sorted(Path(grasp_cli.__file__).parent.rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "torch.save", "torch.jit.load"),
    *("eval", "exec", "os.system", "os.popen"),
}
FROM_AUTHORS = ("from_pretrained", "SentenceTransformer", "CrossEncoder")


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Every part of the package's source, with its file."""
    return [(str(path), node) for path in SOURCES for node in ast.walk(ast.parse(path.read_text()))]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Where, the dotted name, and the call."""
    for path, node in nodes():
        if isinstance(node, ast.Call):
            yield f"{path}:{node.lineno}", ast.unparse(node.func), node


def given(call: ast.Call, name: str) -> Any:
    """The constant given for a keyword; `...` where it is not given as one."""
    for keyword in call.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return keyword.value.value
    return ...


def test_no_module_that_runs_code_from_data() -> None:
    assert len(SOURCES) > 100
    for path, node in nodes():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            harmless = [alias.name for alias in node.names] == ["UnpicklingError"]
            names += [] if harmless else [node.module or ""]
        found = {name.partition(".")[0] for name in names} & FORBIDDEN_MODULES
        assert not found, f"{path}: {found}"
    assert [where for where, name, _ in calls() if name in FORBIDDEN_CALLS] == []


def test_pickles_are_read_for_their_weights_only_and_arrays_without() -> None:
    loads = [(where, call) for where, name, call in calls() if name == "torch.load"]
    assert loads and all(given(call, "weights_only") is True for _, call in loads), loads
    arrays = [(where, call) for where, name, call in calls() if name == "np.load"]
    assert arrays and all(given(call, "allow_pickle") is False for _, call in arrays), arrays


def test_code_that_comes_with_a_model_is_never_asked_for() -> None:
    trusting = [
        (path, node.arg)
        for path, node in nodes()
        if isinstance(node, ast.keyword) and node.arg == "trust_remote_code"
        if not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]
    assert trusting == []
    silent = [
        where
        for where, name, call in calls()
        if name.endswith(FROM_AUTHORS) and ".Auto" in f".{name}"
        if given(call, "trust_remote_code") is not False
        and not any(keyword.arg is None for keyword in call.keywords)  # **options, seen above
    ]
    assert silent == []  # left out, transformers asks on the terminal


class Bomb:
    """Unpickled, it would leave a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_a_pickle_that_runs_code_is_refused_in_a_sentence(tmp_path: Path) -> None:
    from grasp_cli.models.weights import read_weights

    mark = tmp_path / "ran"
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"linear.weight": Bomb(mark)}))
    with pytest.raises(GraspError, match=r"pytorch_model\.bin.* holds more than weights"):
        read_weights(tmp_path)
    assert not mark.exists()
    pickle.loads((tmp_path / "pytorch_model.bin").read_bytes())
    assert mark.exists()  # the bomb does work


def test_safetensors_are_read_where_both_are_there(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from grasp_cli.models.weights import read_weights

    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    assert read_weights(tmp_path)["a"].tolist() == [1, 1]
    save_file({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    assert read_weights(tmp_path)["a"].tolist() == [0, 0]


IDS = [
    "../../etc/x",
    "/etc/passwd",
    "a/../../b",
    "nul\0byte",
    "i" * 100_000,
    "..",
    ".",
    "C:\\x",
    "\ud7ff\n",
]


def test_no_id_leads_an_index_out_of_its_directory(tmp_path: Path) -> None:
    from grasp_cli.retrieval.store import Index
    from grasp_cli.retrieval.writer import Settings, build
    from tests.retrieval.fakes import HashingEncoder

    documents = [
        {"id": each, "title": each, "text": f"word{n} of it."} for n, each in enumerate(IDS)
    ]
    inside = tmp_path / "deep" / "er" / "index"
    inside.parent.mkdir(parents=True)
    build(documents, inside, Settings("hashing", "0"), HashingEncoder())
    outside = [path for path in tmp_path.rglob("*") if inside not in [path, *path.parents]]
    assert sorted(outside) == sorted([inside.parent.parent, inside.parent])
    names = {path.name for path in inside.rglob("*")}
    assert names and not any(each in name for each in IDS if len(each) > 2 for name in names)
    assert {Index(inside).stored(row)["id"] for row in range(len(IDS))} == set(IDS)
