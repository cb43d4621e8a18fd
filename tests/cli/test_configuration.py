"""Where an option's value comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from grasp_cli.cli.configuration import configure, load
from grasp_cli.cli.main import app
from grasp_cli.cli.options import Dtype, Output, Profile
from grasp_cli.cli.variables import Verbs, leaves, options
from grasp_cli.pipe.errors import UsageError

tried = typer.Typer(cls=Verbs, pretty_exceptions_enable=False)
below = typer.Typer(name="train")
seen: dict[str, Any] = {}


@tried.callback()
def _root(context: typer.Context) -> None:
    configure(context)


@tried.command()
def answer(
    top_k: Annotated[int, typer.Option("-k", "--top-k", min=1)] = 5,
    directory: Annotated[Path, typer.Option("-x", "--index", envvar="GRASP_INDEX")] = Path("ix"),
    dtype: Annotated[Dtype, typer.Option()] = Dtype.auto,
    coarse: Annotated[bool, typer.Option("--coarse/--no-coarse")] = True,
    at: Annotated[list[int] | None, typer.Option()] = None,
    cache: Annotated[Path | None, typer.Option()] = None,
    profile: Annotated[Profile, typer.Option()] = Profile.embedded,
    output: Output = None,
) -> None:
    seen.update(locals())


@tried.command()
def other(
    top_k: Annotated[int, typer.Option("--top-k")] = 5,
    lambda_: Annotated[float, typer.Option("--mmr-lambda", max=1)] = 0.7,
) -> None:
    seen.update(locals())


@below.command()
def evidence(epochs: Annotated[int, typer.Option()] = 3) -> None:
    seen.update(locals())


@below.callback()
def _below() -> None:
    pass


tried.add_typer(below)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory as home and as the current one; no variable of ours."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("GRASP_INDEX", "GRASP_PROFILE", "GRASP_TOP_K"):
        monkeypatch.delenv(name, raising=False)


def project(text: str) -> None:
    Path("grasp.toml").write_text(text)


def user(text: str, base: str = "../.config") -> None:
    (Path(base) / "grasp").mkdir(parents=True)
    (Path(base) / "grasp" / "config.toml").write_text(text)


def got(*arguments: str) -> dict[str, Any]:
    seen.clear()
    done = CliRunner().invoke(tried, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(seen)


def refused(text: str) -> str:
    project(text)
    with pytest.raises(UsageError) as caught:
        got("answer")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("grasp.toml: ")
    return str(caught.value)


def test_each_place_goes_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert got("answer")["top_k"] == 5
    user("top-k = 1")
    assert got("answer")["top_k"] == 1
    (Path("../.config/grasp/config.toml")).write_text("top-k = 1\n[answer]\ntop-k = 2")
    assert got("answer")["top_k"] == 2
    assert got("other")["top_k"] == 1
    project("top-k = 3")  # the project's file, also against the table of the user's
    assert got("answer")["top_k"] == 3
    project("top-k = 3\n[answer]\ntop-k = 4")
    assert got("answer")["top_k"] == 4
    assert got("other")["top_k"] == 3
    monkeypatch.setenv("GRASP_TOP_K", "6")
    assert got("answer")["top_k"] == 6
    monkeypatch.setenv("GRASP_ANSWER_TOP_K", "7")
    assert got("answer")["top_k"] == 7
    assert got("other")["top_k"] == 6
    assert got("answer", "-k", "8")["top_k"] == 8
    monkeypatch.setenv("GRASP_ANSWER_TOP_K", "")  # as if it were not set
    assert got("answer")["top_k"] == 6


def test_every_kind_of_value(monkeypatch: pytest.MonkeyPatch) -> None:
    project(
        'index = "/far"\n[answer]\ndtype = "float32"\ncoarse = false\nat = [1, 2]\n'
        'cache = "c"\n[other]\nmmr_lambda = 1\n[train.evidence]\nepochs = 9'
    )
    found = got("answer")
    assert (found["directory"], found["dtype"]) == (Path("/far"), Dtype.float32)
    assert (found["coarse"], list(found["at"]), found["cache"]) == (False, [1, 2], Path("c"))
    assert got("other")["lambda_"] == 1.0
    assert got("train", "evidence")["epochs"] == 9
    assert got("answer", "--coarse", "--at", "7")["coarse"] is True
    monkeypatch.setenv("GRASP_COARSE", "no")
    monkeypatch.setenv("GRASP_AT", "4 5")
    monkeypatch.setenv("GRASP_INDEX", "near")
    monkeypatch.setenv("GRASP_TRAIN_EVIDENCE_EPOCHS", "2")
    found = got("answer")
    assert (found["coarse"], list(found["at"]), found["directory"]) == (False, [4, 5], Path("near"))
    assert got("train", "evidence")["epochs"] == 2


def test_one_value_of_a_repeatable_option_needs_no_list() -> None:
    project("[answer]\nat = 3")
    assert list(got("answer")["at"]) == [3]


def test_the_directory_of_models_is_not_the_cache_of_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRASP_CACHE", "/models")
    assert got("answer")["cache"] is None
    monkeypatch.setenv("GRASP_ANSWER_CACHE", "/answers")
    assert got("answer")["cache"] == Path("/answers")


def test_the_users_file_where_the_standard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user("top-k = 2")
    user("top-k = 4", base=str(tmp_path / "xdg"))
    assert got("answer")["top_k"] == 2
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert got("answer")["top_k"] == 4
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert got("answer")["top_k"] == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("top-kk = 1", 'no verb has an option "top-kk": did you mean "top-k"?'),
        ("[answer]\ntopk = 1", '[answer] has no option "topk": did you mean "top-k"?'),
        ("[answer]\nmmr-lambda = 1", '[answer] has no option "mmr-lambda"; [other] has'),
        ("[train.evidence]\nepoch = 1", '[train.evidence] has no option "epoch": did you mean'),
        ("[anwser]\ntop-k = 1", 'no verb for the table [anwser]: did you mean "answer"?'),
        ("[answer.deep]\ntop-k = 1", 'has no option "deep"'),
        ("[train]\nepochs = 1", '[train] has no option "epochs"; [train.evidence] has'),
        ('output = "x"', '"output" is given on the command line only'),
        ('[answer]\noutput = "x"', '"output" is given on the command line only'),
        ("zzzz = 1", 'no verb has an option "zzzz"; see grasp config'),
        ("[answer]\ntop-k = 0", "[answer] top-k: "),
        ('top-k = "many"', "top-k: "),
        ("top-k = true", "top-k: takes a value, not true or false"),
        ("top-k = [1]", "top-k: takes one value, not a list"),
        ('[answer]\ncoarse = "no"', "[answer] coarse: takes true or false"),
        ("[answer]\ncoarse = 1", "[answer] coarse: takes true or false"),
        ('[answer]\ndtype = "float8"', "[answer] dtype: "),
        ("[other]\nmmr-lambda = 2", "[other] mmr-lambda: "),  # also of a verb that does not run
        ("top-k = ", "not TOML"),
    ],
)
def test_what_a_file_may_not_hold(text: str, shown: str) -> None:
    assert shown in refused(text)


def test_a_file_that_is_not_text() -> None:
    Path("grasp.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"grasp\.toml: not TOML"):
        got("answer")


def test_a_directory_in_place_of_a_file() -> None:
    Path("grasp.toml").mkdir()
    with pytest.raises(UsageError, match=r"grasp\.toml: cannot be read"):
        got("answer")


def shown(*arguments: str) -> dict[tuple[str, str], tuple[Any, str]]:
    done = CliRunner().invoke(app, ["config", "--format", "json", *arguments])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    return {(row["verb"], row["option"]): (row["value"], row["source"]) for row in rows}


def test_config_shows_each_value_and_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user("window = 7")
    project('profile = "paper"\n[compress]\ncoarse-ratio = 0.5')
    monkeypatch.setenv("GRASP_RETRIEVE_TOP_K", "9")
    monkeypatch.setenv("GRASP_MODE", "dense")
    found = shown()
    assert found["compress", "coarse-ratio"] == (0.5, "grasp.toml")
    assert found["compress", "profile"] == found["answer", "profile"] == ("paper", "grasp.toml")
    assert found["compress", "window"] == (7, str(tmp_path / ".config" / "grasp" / "config.toml"))
    assert found["retrieve", "top-k"] == ("9", "$GRASP_RETRIEVE_TOP_K")
    assert found["retrieve", "mode"] == ("dense", "$GRASP_MODE")
    assert found["compress", "locality-window"] == (2, "default")
    assert found["compress", "rate"][0].startswith("no limit")
    assert ("train evidence", "epochs") in found
    assert {verb for verb, _ in shown("compress")} == {"compress"}


def test_config_names_files_and_variables_that_are_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRASP_TOPK", "3")
    project("top-k = 2")
    done = CliRunner().invoke(app, ["config", "retrieve"])
    assert done.exit_code == 0
    assert "GRASP_TOPK" in done.stderr and "grasp.toml: read" in done.stderr
    assert "config.toml: not there" in done.stderr
    assert any(
        line.split() == ["retrieve", "top-k", "2", "grasp.toml"]
        for line in done.stdout.splitlines()
    )


def test_help_needs_no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    project("nonsense = 1")
    monkeypatch.setattr("sys.argv", ["grasp", "compress", "--help"])
    assert CliRunner().invoke(app, ["compress", "--help"]).exit_code == 0


def test_every_option_of_every_verb_has_variables_of_its_own() -> None:
    root: Any = typer.main.get_command(app)
    for verb, command in leaves(root):
        names = [name for _, option in options(command) for name in option.envvar]
        assert len(names) == len(set(names)), verb
        assert "GRASP_CACHE" not in names
    assert load(root).files == []


def test_an_error_names_the_variables_as_people_write_them() -> None:
    told = CliRunner().invoke(tried, ["answer", "-k", "x"])
    assert told.exit_code == 2
    assert "GRASP_ANSWER_TOP_K or GRASP_TOP_K" in " ".join(told.output.replace("│", " ").split())
