"""The models of a profile, and those that the configuration names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grasp_cli.compression.methods import COMPRESSORS
from grasp_cli.doctor.finding import Finding
from grasp_cli.models.description import described, only_pickled
from grasp_cli.models.locate import locate
from grasp_cli.models.profiles import MODELS, PROFILES, ROLES, Hub, Ollama
from grasp_cli.pipe.errors import GraspError


def weights(profile: str, chosen: Mapping[str, str]) -> Iterator[Finding]:
    """One finding per role: the model of `profile`, or the one that `chosen` has for the role.

    Models that a server holds are the servers' affair. Known alternatives are worth a note.
    """
    for role in ROLES:
        first, *others = PROFILES[profile][role]
        name = chosen.get(role, first)
        for needed in (name, *_needs(name)):
            if not _on_server(needed):
                yield _finding(role, needed)
        for other in others if role not in chosen else ():
            if not _on_server(other) and _finding(role, other).state == "ok":
                yield Finding("model", role, "ok", f"{other}, too: {described(other)}")


def pickled() -> Iterator[Finding]:
    """Known models in the local hub cache that have no safetensors."""
    names = dict.fromkeys([*MODELS, *COMPRESSORS.values()])
    for name in names:
        source = MODELS[name].sources[-1] if name in MODELS else Hub(name)
        place = locate(source) if isinstance(source, Hub) else None
        if place and only_pickled(place):
            yield Finding(
                "model",
                name,
                "note",
                f"{place}: weights as .bin only, which are read as tensors and never unpickled; "
                "prefer a revision with safetensors",
            )


def _finding(role: str, name: str) -> Finding:
    try:
        return Finding("model", role, "ok", f"{name}: {described(name)}")
    except GraspError as error:
        return Finding("model", role, "bad", str(error))


def _needs(name: str) -> tuple[str, ...]:
    return MODELS[name].needs if name in MODELS else ()


def _on_server(name: str) -> bool:
    return name in MODELS and isinstance(MODELS[name].sources[0], Ollama)
