"""`grasp doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grasp_cli.cli.config import effective, written
from grasp_cli.cli.configuration import META_KEY, Configuration, load
from grasp_cli.cli.options import DEFAULT_PROFILE, Profile, ProfileOption
from grasp_cli.cli.variables import leaves, options
from grasp_cli.pipe.errors import MissingError, UsageError

if TYPE_CHECKING:
    from grasp_cli.doctor.finding import Finding

# (verb, option) that names the model of a role
_MODELS = {
    "dense": ("index", "dense-model"),
    "coarse": ("compress", "coarse-model"),
    "embedder": ("compress", "embedder"),
    "classifier": ("compress", "classifier"),
    "reader": ("answer", "reader-model"),
}


class DoctorFormat(str, Enum):
    """How findings are written."""

    table = "table"
    json = "json"


def doctor(
    context: typer.Context,
    profile: ProfileOption = DEFAULT_PROFILE,
    format: Annotated[
        DoctorFormat, typer.Option(help="How findings are written.")
    ] = DoctorFormat.table,
) -> None:
    """Look at everything that a run needs: packages, devices, models, index, servers, disks.

    Asks no server but the one that the reader is configured for. Exits with 3 where the chosen
    profile cannot run.

    grasp doctor --profile paper
    """
    found = list(_findings(context, profile))
    bad = sum(finding.state == "bad" for finding in found)
    typer.echo(_written(found, profile.value, bad, format), nl=False)
    if bad:
        raise MissingError(f"profile {profile.value} cannot run as it is: {bad} findings are bad")


def _findings(context: typer.Context, profile: Profile) -> Iterator[Finding]:
    from grasp_cli.doctor import installation, places, servers, weights
    from grasp_cli.doctor.finding import Finding

    yield from installation.versions()
    yield from installation.extras()
    yield from installation.devices()
    settings = _Settings(context)
    if settings.trouble:
        yield Finding("configuration", "files", "bad", settings.trouble)
    for file in settings.configuration.files:
        yield Finding("configuration", "file", "ok", str(file))
    reader = settings.text("answer", "reader") or _reader_of(profile)
    chosen = {
        role: name
        for role, place in _MODELS.items()
        if (name := settings.text(*place)) and (role != "reader" or reader == "transformers")
    }
    yield from weights.weights(profile.value, chosen)
    yield from weights.pickled()
    yield from places.index(Path(settings.text("retrieve", "index") or ""), profile.value)
    yield from servers.servers(
        reader, settings.text("answer", "reader-model") or _served(reader), settings.url()
    )
    yield from places.disks()


class _Settings:
    """What options are worth without a command line; the defaults alone where a file is wrong."""

    def __init__(self, context: typer.Context) -> None:
        root = context.find_root().command
        self._options = {verb: dict(options(command)) for verb, command in leaves(root)}
        self.configuration = context.meta.get(META_KEY) or Configuration()
        self.trouble = "" if META_KEY in context.meta else _trouble(root)

    def text(self, verb: str, name: str) -> str | None:
        """An option's value, None where it has none."""
        value, _ = effective(verb, self._options[verb][name], self.configuration)
        return str(value) if value is not None else None

    def url(self) -> str | None:
        """The server of the reader."""
        return self.text("answer", "url")


def _trouble(root: Any) -> str:
    try:
        load(root)
    except UsageError as error:
        return str(error)
    return ""


def _reader_of(profile: Profile) -> str:
    from grasp_cli.cli.answer import READER_OF_PROFILE

    return READER_OF_PROFILE[profile].value


def _served(reader: str) -> str:
    """The model that a server is expected to hold where none is named."""
    from grasp_cli.models.profiles import model_for

    return model_for("paper", "reader") if reader == "ollama" else ""


def _written(found: list[Finding], profile: str, bad: int, format: DoctorFormat) -> str:
    rows = [vars(finding) for finding in found]
    if format is DoctorFormat.table:
        return written(rows, ("state", "subject", "name", "text"), "table")
    import orjson

    value = {"profile": profile, "can_run": not bad, "findings": rows}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"
