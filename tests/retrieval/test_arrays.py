"""Arrays on disk: filled in place, read by map, no crash on a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grasp_cli.retrieval import arrays
from grasp_cli.retrieval.arrays import create_array, flush, open_array


@pytest.mark.parametrize("length", [0, 1, 5000])
@pytest.mark.parametrize("reserving", [True, False])
def test_comes_back(
    length: int, reserving: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not reserving:  # a system without posix_fallocate
        monkeypatch.delattr(arrays.os, "posix_fallocate", raising=False)
        monkeypatch.setattr(arrays, "_ZEROS", bytes(1000))
    array = create_array(tmp_path / "x.npy", np.int32, length)
    assert array.tolist() == [0] * length
    array[:] = np.arange(length)
    flush(array)
    opened = open_array(tmp_path / "x.npy", length)
    assert opened.tolist() == list(range(length))
    assert isinstance(opened, np.memmap) == (length > 0)
    assert np.load(tmp_path / "x.npy").dtype == np.int32


def test_another_length(tmp_path: Path) -> None:
    create_array(tmp_path / "x.npy", np.int32, 3)
    with pytest.raises(ValueError, match="in place of 4"):
        open_array(tmp_path / "x.npy", 4)


FULL = """
import resource, sys
from pathlib import Path
from grasp_cli.retrieval.arrays import create_array
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    create_array(Path(sys.argv[1]), "int32", 1_000_000)
except OSError:
    sys.exit(3)
"""


def test_no_room_is_an_error_and_not_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "x.npy")]
    assert subprocess.run(command, timeout=60).returncode == 3
