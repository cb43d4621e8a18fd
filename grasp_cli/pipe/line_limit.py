"""How much of the input may be in memory at once; set by the command, read where files are."""

from __future__ import annotations

from grasp_cli import defaults

MEGABYTE = 1 << 20


class Limits:
    """`line_mb`: the longest line of JSONL, and the longest object of other JSON, in megabytes."""

    def __init__(self, line_mb: int) -> None:
        self.line_mb = line_mb

    @property
    def line_bytes(self) -> int:
        """The same in bytes."""
        return self.line_mb * MEGABYTE


LIMITS = Limits(defaults.INPUT.max_line_mb)
