"""Arrays on disk in NumPy's .npy format, memory-mapped to read and to write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_ZEROS = bytes(1 << 20)


def create_array(path: Path, dtype: npt.DTypeLike, length: int) -> Any:
    """A new array of `length` zeros at `path`, to be filled; call `flush` on it at the end.

    Its space on the disk is taken at once: a full disk is an `OSError` here, and not a SIGBUS when
    a page is written.
    """
    if length == 0:  # an empty file cannot be mapped
        np.save(path, np.empty(0, dtype))
        return np.empty(0, dtype)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=(length,))
    _take_space(path)
    return array


def flush(array: Any) -> None:
    """Write what `create_array` gave to disk."""
    if isinstance(array, np.memmap):
        array.flush()


def open_array(path: Path, length: int) -> Any:
    """The array at `path`, read where it is needed.

    Raises `ValueError`, `OSError` or `EOFError` where the file is damaged or of another length.
    """
    array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
    if array.shape != (length,):
        raise ValueError(f"{path}: {array.shape} values in place of {length}")
    return array


def _take_space(path: Path) -> None:
    size = path.stat().st_size
    with open(path, "r+b") as stream:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(stream.fileno(), 0, size)
            return
        header = np.lib.format.open_memmap(path, mode="r").offset
        stream.seek(header)
        for start in range(header, size, len(_ZEROS)):
            stream.write(_ZEROS[: size - start])
