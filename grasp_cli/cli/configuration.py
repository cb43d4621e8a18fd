"""Configuration files: what they may hold, and which of them says what.

An option's value comes from the command line, else a `GRASP_*` variable, else `./grasp.toml`,
else the user's `grasp/config.toml` (below `$XDG_CONFIG_HOME`, else `~/.config`), else its default.
In a file, keys at the top are for every verb that has such an option, keys in `[verb]` for that
verb, and go before those at the top. Keys are options' long names without dashes in front.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from grasp_cli.cli.variables import COMMAND_LINE_ONLY, leaves, options
from grasp_cli.pipe.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same parser, as a package
    import tomli as tomllib

PROJECT_FILE = Path("grasp.toml")
META_KEY = "grasp.configuration"  # in a click context's meta


@dataclass
class Configuration:
    """Values by verb and parameter name, and the file that each came from."""

    files: list[Path] = field(default_factory=list)  # those read, the first goes before the next
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: dict[tuple[str, str], Path] = field(default_factory=dict)

    def default_map(self) -> dict[str, Any]:
        """The values as click takes them: one level of names per level of commands."""
        nested: dict[str, Any] = {}
        for verb, values in self.values.items():
            *groups, last = verb.split()
            place = nested
            for group in groups:
                place = place.setdefault(group, {})
            place[last] = values
        return nested


def configure(context: Any) -> Configuration:
    """Load the files and make them the defaults of the verbs below a click context."""
    configuration = load(context.command)
    context.meta[META_KEY] = configuration
    context.default_map = configuration.default_map()
    return configuration


def candidates() -> list[Path]:
    """The files that are looked for, the first goes before the second."""
    return [PROJECT_FILE, *_user_file()]


def _user_file() -> Iterator[Path]:
    base = os.environ.get("XDG_CONFIG_HOME")
    if base and os.path.isabs(base):  # the standard wants a relative one ignored
        yield Path(base) / "grasp" / "config.toml"
        return
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        yield Path(home) / ".config" / "grasp" / "config.toml"


def load(root: Any) -> Configuration:
    """Read the files for the commands below `root`.

    Raises `UsageError` for a file that is no TOML, a key that no verb knows (with the nearest one
    that it does), and a value that its option does not take.
    """
    found = Configuration()
    verbs = {verb: dict(options(command)) for verb, command in leaves(root)}
    for file in candidates():
        content = _read(file)
        if content is None:
            continue
        found.files.append(file)
        shared, tables = _split(content, verbs, file)
        for verb, known in verbs.items():
            common = {name: value for name, value in shared.items() if name in known}
            for name, value in {**common, **tables.get(verb, {})}.items():
                value = _checked(known[name], value, f"{file}: {_place(verb, name, tables)}")
                parameter = known[name].name
                if (verb, parameter) not in found.sources:
                    found.values.setdefault(verb, {})[parameter] = value
                    found.sources[verb, parameter] = file
    return found


def _read(file: Path) -> dict[str, Any] | None:
    try:
        with open(file, "rb") as stream:
            return dict(tomllib.load(stream))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


def _split(
    content: Mapping[str, Any], verbs: dict[str, dict[str, Any]], file: Path
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """(shared values, values by verb), names with dashes, all of them known."""
    every = {name for known in verbs.values() for name in known}
    shared: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for verb, values in _tables(content, verbs, file):
        for key, value in values.items():
            name = key.replace("_", "-")
            known = verbs.get(verb, {}) if verb else every
            if name not in known:
                raise UsageError(f"{file}: {_unknown(verb, key, known, verbs)}")
            (tables.setdefault(verb, {}) if verb else shared)[name] = value
    return shared, tables


def _tables(
    content: Mapping[str, Any], verbs: Mapping[str, Any], file: Path, above: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(verb, its values), with "" for what stands at the top."""
    yield above, {key: value for key, value in content.items() if not isinstance(value, dict)}
    for key, value in content.items():
        if not isinstance(value, dict):
            continue
        name = f"{above} {key}".strip()
        below = [verb for verb in verbs if verb == name or verb.startswith(f"{name} ")]
        if not below:
            near = _nearest(name, verbs)
            raise UsageError(f"{file}: there is no verb for the table [{_dotted(name)}]{near}")
        if name in verbs:
            yield name, value
        else:
            yield from ((v, t) for v, t in _tables(value, verbs, file, name) if v != name or t)


def _unknown(
    verb: str, key: str, known: Mapping[str, Any] | set[str], verbs: Mapping[str, Any]
) -> str:
    name = key.replace("_", "-")
    where = f"[{_dotted(verb)}] has" if verb else "no verb has"
    if name in COMMAND_LINE_ONLY:
        return f'"{key}" is given on the command line only'
    if verb and (others := [other for other in verbs if name in verbs[other]]):
        return f'[{_dotted(verb)}] has no option "{key}"; [{_dotted(others[0])}] has'
    no = "no option" if verb else "an option"
    return f'{where} {no} "{key}"{_nearest(name, known)}'


def _nearest(name: str, known: Mapping[str, Any] | set[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f': did you mean "{near[0]}"?' if near else "; see grasp config"


def _checked(option: Any, value: Any, where: str) -> Any:
    """The value as click takes it; raises where the option would not. TOML's types count."""
    if isinstance(value, bool) != bool(option.is_flag):
        wanted = "true or false" if option.is_flag else "a value, not true or false"
        raise UsageError(f"{where}: takes {wanted}")
    if isinstance(value, list) and not option.multiple:
        raise UsageError(f"{where}: takes one value, not a list")
    given = [value] if option.multiple and not isinstance(value, list) else value
    try:
        option.process_value(None, given)
    except typer.BadParameter as error:
        raise UsageError(f"{where}: {error.message}") from None
    return given


def _place(verb: str, name: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    return f"[{_dotted(verb)}] {name}" if name in tables.get(verb, {}) else name


def _dotted(verb: str) -> str:
    return verb.replace(" ", ".")
