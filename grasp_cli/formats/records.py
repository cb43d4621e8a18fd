"""Records as grasp itself reads and writes them, so that they can be sampled or written elsewhere.

Keys come under their names afterwards (`_id` becomes `id`, `ctxs` `contexts`, and so on).
"""

from __future__ import annotations

from collections.abc import Iterator

from grasp_cli.formats.base import ItemFormat
from grasp_cli.pipe.records import Record, to_record


class Records(ItemFormat):
    """One record per record."""

    def convert(self, item: Record, where: str) -> Iterator[Record]:
        """The record, checked."""
        yield to_record(item, where, self.count)
