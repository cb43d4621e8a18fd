"""Versions, packages, extras and the devices that torch sees."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from grasp_cli import __version__
from grasp_cli.doctor.finding import Finding

_DISTRIBUTION = "grasp-cli"
_NOT_FOR_USERS = ("dev",)


def versions() -> Iterator[Finding]:
    """grasp, Python, and every package that grasp needs."""
    yield Finding("version", "grasp", "ok", __version__)
    system = f"{platform.system()} {platform.machine()}"
    yield Finding("version", "python", "ok", f"{platform.python_version()} on {system}")
    for requirement in _requirements(""):
        yield _installed(requirement)


def extras() -> Iterator[Finding]:
    """Every extra: whole, or the line that installs it."""
    names = metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or []
    for name in sorted(set(names) - set(_NOT_FOR_USERS)):
        wanted = [one for one in _requirements(name) if one not in _requirements("")]
        missing = [one.name for one in wanted if _version(one.name) is None]
        if missing:
            line = f"{', '.join(missing)} missing: pip install '{_DISTRIBUTION}[{name}]'"
            yield Finding("extra", name, "note", line)
        else:
            found = ", ".join(f"{one.name} {_version(one.name)}" for one in wanted)
            yield Finding("extra", name, "ok", found)


def devices() -> Iterator[Finding]:
    """Where larger models and encoders run, in which number format, and why."""
    from grasp_cli.models.dtype import choose_dtype
    from grasp_cli.models.placement import place

    yield Finding("device", "causal models, T5, cross-encoders", "ok", str(place()))
    dtype = str(choose_dtype("auto", "cpu")).removeprefix("torch.")
    native = "multiplies" if dtype == "bfloat16" else "does not multiply"
    why = f"the processor {native} bfloat16 natively"
    yield Finding("device", "encoders", "ok", f"cpu, {dtype} ({why})")
    yield Finding("device", "processor", "ok", f"{os.cpu_count()} cores")


def _requirements(extra: str) -> list[Requirement]:
    """What grasp needs here, or (with `extra`) that and what the extra adds."""
    try:
        given = [Requirement(text) for text in metadata.requires(_DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:  # run from its source
        return []
    return [one for one in given if one.marker is None or one.marker.evaluate({"extra": extra})]


def _installed(requirement: Requirement) -> Finding:
    version = _version(requirement.name)
    if version is None:
        line = f"missing: pip install '{requirement}'"
        return Finding("version", requirement.name, "bad", line)
    if not requirement.specifier.contains(version, prereleases=True):
        line = f"{version}, but grasp needs {requirement.specifier}: pip install '{requirement}'"
        return Finding("version", requirement.name, "note", line)
    return Finding("version", requirement.name, "ok", version)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
