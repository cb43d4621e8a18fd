"""The `grasp` command: its verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType

import typer

from grasp_cli import __version__
from grasp_cli.cli.configuration import configure
from grasp_cli.cli.variables import Verbs
from grasp_cli.pipe.errors import (
    INTERRUPTED,
    GraspError,
    Interrupted,
    PipeClosed,
    UsageError,
)
from grasp_cli.pipe.log import LOG, put
from grasp_cli.pipe.masking import masked

app = typer.Typer(
    name="grasp",
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Query-aware context compression for retrieval-augmented generation, as a Unix pipe.\n\n"
        "grasp index documents.jsonl; "
        "grasp retrieve questions.jsonl | grasp compress | grasp answer | grasp evaluate"
    ),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"grasp {__version__}")
        raise typer.Exit


@app.callback()
def _grasp(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    if context.resilient_parsing or _asks_for_help():
        return
    try:
        configure(context)
    except UsageError:
        if context.invoked_subcommand != "doctor":  # which says what is wrong with it
            raise


def _asks_for_help() -> bool:
    return bool({"-h", "--help"} & set(sys.argv[1:]))


def _add_verbs() -> None:
    from grasp_cli.cli.answer import answer
    from grasp_cli.cli.compress import compress
    from grasp_cli.cli.config import config
    from grasp_cli.cli.convert import convert
    from grasp_cli.cli.doctor import doctor
    from grasp_cli.cli.evaluate import evaluate
    from grasp_cli.cli.experiment import experiment
    from grasp_cli.cli.explain import explain
    from grasp_cli.cli.index import index
    from grasp_cli.cli.merge import merge
    from grasp_cli.cli.models import models
    from grasp_cli.cli.retrieve import retrieve
    from grasp_cli.cli.schema import schema
    from grasp_cli.cli.train import train
    from grasp_cli.cli.validate import validate

    stages = (index, retrieve, compress, answer, evaluate)
    others = (experiment, merge, explain, convert, models, config, doctor, schema, validate)
    for verb in (*stages, *others):
        app.command()(verb)
    app.add_typer(train)
    _add_talk_options(app)


def _add_talk_options(group: typer.Typer, name: str = "") -> None:
    """To every verb of the group and of the groups in it; those of a group speak in its name."""
    from grasp_cli.cli.talk_options import with_talk_options

    for command in group.registered_commands:
        if command.callback is not None:
            command.callback = with_talk_options(command.callback, name)
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _add_talk_options(below.typer_instance, below.typer_instance.info.name or "")


_add_verbs()


def main() -> None:
    """Console script: run, and turn what is raised into a message and an exit code."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except PipeClosed as error:
        sys.exit(error.exit_code)
    except GraspError as error:
        LOG.error(str(error), event="error", type=type(error).__name__, exit=error.exit_code)
        sys.exit(error.exit_code)
    except Interrupted as error:
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:  # noqa: BLE001 - the last resort: a bug, shown whole
        _say_bug(traceback.format_exc())
        sys.exit(1)


def _stop(number: int, frame: FrameType | None) -> None:
    """SIGTERM is raised like Ctrl-C, so that what is open is put in order first."""
    raise Interrupted(number)


def _say_bug(trace: str) -> None:
    if not LOG.as_json:
        put(masked(trace))
    said = "this is a bug in grasp; please report it with the lines above"
    LOG.error(said, event="bug", exit=1, trace=masked(trace))


if __name__ == "__main__":
    main()
