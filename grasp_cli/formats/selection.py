"""Some of a stream: the first ones, or a random sample in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random

from grasp_cli.pipe.records import Record


def select(
    records: Iterable[Record], limit: int | None, sample: int | None, seed: int
) -> Iterator[Record]:
    """`sample` random ones of the first `limit` records, None meaning all of them."""
    first = islice(records, limit)
    return iter(first) if sample is None else iter(reservoir(first, sample, seed))


def reservoir(records: Iterable[Record], size: int, seed: int) -> list[Record]:
    """A uniform sample without replacement, in one pass and the memory of `size` records.

    Algorithm R (Vitter 1985). The same seed and input give the same sample; order is kept.
    """
    random = Random(seed)
    kept: list[tuple[int, Record]] = []
    for position, record in enumerate(records):
        if position < size:
            kept.append((position, record))
        elif (place := random.randrange(position + 1)) < size:
            kept[place] = (position, record)
    return [record for _, record in sorted(kept, key=lambda pair: pair[0])]
