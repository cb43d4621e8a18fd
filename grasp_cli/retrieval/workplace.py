"""Where an index is made: beside its place, locked, kept when interrupted, put in place whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.retrieval.blocks import PROGRESS, passages_kept
from grasp_cli.retrieval.store import Manifest, is_index

BUILDING, NEW, OLD, LOCK = ".building", "new", ".old", "lock"
FINISHED = "finished"  # the content of the index that is about to be put in place


class BusyError(ProcessingError):
    """Another process is writing the index."""


@contextmanager
def workplace(directory: Path) -> Iterator[Path]:
    """The directory DIRECTORY.building, locked; what the block leaves in its NEW is put in place.

    On an exception, a full disk for instance, `directory` stays as it was, and the building stays
    too where a block of it was finished, so that it can go on. A directory that another process
    works in is left alone: `BusyError`.
    """
    import filelock

    refuse_other(directory)
    directory = directory.resolve()
    building, old = building_of(directory), _beside(directory, OLD)
    lock = filelock.FileLock(building / LOCK, timeout=0)
    try:
        building.mkdir(parents=True, exist_ok=True)
        with lock:
            _undo_half_a_replacement(directory, old)
            shutil.rmtree(building / NEW, ignore_errors=True)  # of a build that was killed
            if _is_finished(directory):
                _forget(building)
            try:
                yield building
                (building / FINISHED).write_text(Manifest.read(building / NEW).content)
                _replace(directory, building / NEW, old)
                _forget(building)
            finally:
                shutil.rmtree(building / NEW, ignore_errors=True)
                if not (building / PROGRESS).is_file():
                    shutil.rmtree(building, ignore_errors=True)
    except filelock.Timeout:
        raise BusyError(
            f"{directory}: another grasp index is writing this index; wait until it is done"
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise ProcessingError(
            f"{directory}: cannot be written: {reason}; what was there is unchanged"
        ) from error


def refuse_other(directory: Path) -> None:
    """Raise `UsageError` where `directory` holds something that is not an index."""
    if not directory.exists() or is_index(directory):
        return
    if not directory.is_dir() or any(directory.iterdir()):
        raise UsageError(f"{directory}: not an index, so it is not replaced; choose another place")


def building_of(directory: Path) -> Path:
    """Where the index `directory` is made."""
    return _beside(directory.resolve(), BUILDING)


def interrupted(directory: Path) -> int | None:
    """How many passages an interrupted build of `directory` has kept, None without one."""
    return None if _is_finished(directory) else passages_kept(building_of(directory))


def _is_finished(directory: Path) -> bool:
    """Whether a build was killed when its index already stood in its place."""
    note = building_of(directory) / FINISHED
    if not note.is_file() or not is_index(directory):
        return False
    return Manifest.read(directory).content == note.read_text()


def _forget(building: Path) -> None:
    (building / PROGRESS).unlink(missing_ok=True)
    (building / FINISHED).unlink(missing_ok=True)


def _beside(directory: Path, end: str) -> Path:
    return directory.with_name(directory.name + end)


def _replace(directory: Path, new: Path, old: Path) -> None:
    if directory.exists():
        directory.rename(old)
    new.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _undo_half_a_replacement(directory: Path, old: Path) -> None:
    """A process was killed between the two renames, or before the old index was removed."""
    if old.exists() and not directory.exists():
        old.rename(directory)
    shutil.rmtree(old, ignore_errors=True)
