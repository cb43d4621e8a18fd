"""Where converted models are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """`$GRASP_CACHE`, else `~/.cache/grasp`, else a directory of this user among temporary files.

    It exists on return. Temporary files serve where there is no home directory or none that can
    be written to; they may be gone at the next start.
    """
    given = os.environ.get("GRASP_CACHE")
    if given:
        chosen = Path(given).expanduser()
        chosen.mkdir(parents=True, exist_ok=True)
        return chosen.resolve()
    home = os.path.expanduser("~")
    if home != "~" and os.path.isabs(home):
        chosen = Path(home) / ".cache" / "grasp"
        try:
            chosen.mkdir(parents=True, exist_ok=True)
        except OSError:
            return _temporary()
        if os.access(chosen, os.W_OK):
            return chosen
    return _temporary()


def _temporary() -> Path:
    """A private directory: a name that others could have taken is used only when it is ours."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    chosen = Path(tempfile.gettempdir()) / f"grasp-{user}"
    try:
        chosen.mkdir(mode=0o700, exist_ok=True)
        if not chosen.is_symlink() and chosen.stat().st_uid == user:
            return chosen
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="grasp-"))
