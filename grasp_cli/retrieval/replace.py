"""A directory written beside its place and put there when it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grasp_cli.pipe.errors import ProcessingError, UsageError
from grasp_cli.retrieval.store import is_index

BUILDING, OLD, LOCK = ".building", ".old", "lock"


@contextmanager
def replaced(directory: Path) -> Iterator[Path]:
    """A new directory beside `directory` that takes its place when the block ends well.

    On an exception, a full disk for instance, it is removed and `directory` stays as it was. What
    a killed process left behind is cleared away; one that is still at work is left alone.
    """
    import filelock

    refuse_other(directory)
    directory = directory.resolve()
    building, old = (directory.with_name(directory.name + end) for end in (BUILDING, OLD))
    lock = filelock.FileLock(building / LOCK, timeout=0)
    try:
        building.mkdir(parents=True, exist_ok=True)
        with lock:
            _clear(building, directory, old)
            yield building
            if directory.exists():
                directory.rename(old)
            building.rename(directory)
        (directory / LOCK).unlink(missing_ok=True)
        shutil.rmtree(old, ignore_errors=True)
    except filelock.Timeout:
        raise ProcessingError(f"{directory}: another grasp index is writing this index") from None
    except OSError as error:
        shutil.rmtree(building, ignore_errors=True)
        reason = error.strerror or error
        raise ProcessingError(f"{directory}: cannot be written: {reason}") from error
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def refuse_other(directory: Path) -> None:
    """Raise `UsageError` where `directory` holds something that is not an index."""
    if not directory.exists() or is_index(directory):
        return
    if not directory.is_dir() or any(directory.iterdir()):
        raise UsageError(f"{directory}: not an index, so it is not replaced; choose another place")


def _clear(building: Path, directory: Path, old: Path) -> None:
    """Undo what a build that was killed has left."""
    for path in building.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()
    if old.exists() and not directory.exists():
        old.rename(directory)
    shutil.rmtree(old, ignore_errors=True)
