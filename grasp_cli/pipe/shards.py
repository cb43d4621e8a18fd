"""Shards: a share of the ids of a file, the same on every machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from grasp_cli.pipe.errors import UsageError

_GIVEN = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Shard:
    """The ids whose hash (BLAKE2b, 8 bytes, big-endian) leaves `number` - 1 modulo `count`."""

    number: int  # from 1
    count: int

    @classmethod
    def parse(cls, given: str) -> Shard:
        """From "i/n"; `UsageError` unless 1 ≤ i ≤ n."""
        found = _GIVEN.fullmatch(given)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.number <= shard.count:
            raise UsageError(f"--shard {given}: give i/n with 1 ≤ i ≤ n, as in 2/8")
        return shard

    def __contains__(self, key: str) -> bool:
        return bucket(key, self.count) == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def bucket(key: str, count: int) -> int:
    """The place of an id among `count`, from 0."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % count
