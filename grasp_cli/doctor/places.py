"""The index, and the disks that grasp writes to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from grasp_cli.defaults import DOCTOR
from grasp_cli.doctor.finding import Finding
from grasp_cli.models.cache import cache_directory
from grasp_cli.pipe.errors import GraspError
from grasp_cli.retrieval.store import Index, is_index


def index(directory: Path, profile: str) -> Iterator[Finding]:
    """Whether an index is there, can be read, and has files of the sizes that it states."""
    name = str(directory)
    if not is_index(directory):
        make = f"none here; make one: grasp index DOCUMENTS.jsonl -x {directory}"
        yield Finding("index", name, "note", make)
        return
    try:
        manifest = (found := Index(directory)).manifest
        for file in manifest.files:
            found.part(file)
    except GraspError as error:
        yield Finding("index", name, "bad", str(error))
        return
    size = f"{manifest.documents} documents, {manifest.passages} passages"
    model = f"{manifest.model['name']} of profile {manifest.profile}"
    yield Finding("index", name, "ok", f"{size}, by {model} (every byte: grasp index --verify)")
    if manifest.profile != profile:
        other = f"made with profile {manifest.profile}, and {profile} is chosen"
        yield Finding("index", name, "note", other)


def disks() -> Iterator[Finding]:
    """Room and permission where grasp writes: here, and in its cache."""
    for name, path in (("here", Path.cwd()), ("cache", cache_directory())):
        free = shutil.disk_usage(path).free / 1e6
        room = f"{path}: {free / 1000:.1f} GB free"
        if not os.access(path, os.W_OK):
            yield Finding("disk", name, "note", f"{path}: cannot be written to")
        elif free < DOCTOR.free_megabytes:
            yield Finding("disk", name, "note", f"{room}, which may not be enough")
        else:
            yield Finding("disk", name, "ok", room)
