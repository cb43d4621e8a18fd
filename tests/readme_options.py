"""The README's options tables, made from the command line itself.

`python -m tests.readme_options` writes them into README.md; a test says when that is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- options: made by python -m tests.readme_options -->", "<!-- end of options -->"
COMMON = ("-o", "--expect", "--allow-empty", "--on-error", "--quarantine", "--quiet", "--threads")
COMMON += ("--progress", "--log-format", "--max-line-mb", "--shard", "--max-errors", "--dry-run")


def tables() -> str:
    """All verbs' options as Markdown."""
    import typer

    from grasp_cli.cli.main import app

    command: Any = typer.main.get_command(app)
    parts = []
    for verb, sub in leaves(command):
        rows = [row(p) for p in sub.params if p.param_type_name == "option" and own(p)]
        table = "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])
        parts.append(f"**`grasp {verb}`**\n\n{table}")
    return "\n\n".join(parts)


def leaves(group: Any) -> Iterator[tuple[str, Any]]:
    """Commands with their names, those of groups below too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {below}", found) for below, found in leaves(command))
        else:
            yield name, command


def own(parameter: Any) -> bool:
    return not set(parameter.opts) & {*COMMON, "--help"}


def row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    text = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|")
    return f"| {names} | {default(parameter)} | {text} |"


def default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = parameter.default
    if value is None or value == [] or value == () or callable(value):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{value.value if isinstance(value, Enum) else value}`"


def replaced(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(replaced(README.read_text()))
