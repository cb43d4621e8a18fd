"""`--expect N|FILE`: how many records, or which ids, the output must hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.records import ALIASES
from grasp_cli.pipe.shards import Shard
from grasp_cli.pipe.sources import read_lines

_SHOWN = 3


class Expectation:
    """What was given, and of a file its ids: those of the shard, where there is one."""

    def __init__(self, given: str, shard: Shard | None = None) -> None:
        self.given = given
        self.count = int(given) if given.isdigit() else None
        ids = set() if self.count is not None else _ids_of(Path(given))
        self.ids = {key for key in ids if shard is None or key in shard}

    def check(self, count: int, knows: Callable[[str], bool]) -> None:
        """Raise `DataError` where records are missing from an output of `count` records."""
        if self.count is not None and count != self.count:
            raise DataError(f"--expect {self.count}: {count} records were written")
        missing = sorted(key for key in self.ids if not knows(key))
        if missing:
            shown = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
            raise DataError(f"--expect {self.given}: {len(missing)} ids are missing: {shown}")


def _ids_of(path: Path) -> set[str]:
    ids = set()
    for position, (number, line) in enumerate(read_lines(path), start=1):
        value = json_lines.loads(line, f"{path}:{number}")
        found = (value.get(key) for key in ("id", *ALIASES["id"]))
        ids.add(str(next((key for key in found if key is not None), f"q{position}")))
    return ids
