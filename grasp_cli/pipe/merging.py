"""Shards put together again, in the order of the input that they share.

A shard is read once for its ids and once for its lines. In between only 16 bytes an id are kept and
a place for each record, so that files of millions of records can be merged. A shard that was
continued is in order piece by piece: each piece is read on its own, and all pieces are merged.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.done import digest, read_key
from grasp_cli.pipe.errors import DataError
from grasp_cli.pipe.sources import read_lines

_SHOWN = 3
_KEY = "V16"  # of NumPy: a digest
_PIECES = 64  # of a file that is read piece by piece; more are sorted in memory


class Order:
    """The places of the ids of an input."""

    def __init__(self, ids: Iterable[str]) -> None:
        import numpy as np

        keys = np.frombuffer(_joined(map(digest, ids)), dtype=_KEY)
        self._by_key = np.argsort(keys, kind="stable")
        self._keys = keys[self._by_key]

    def __len__(self) -> int:
        return len(self._keys)

    def places(self, keys: Iterable[bytes]) -> Any:
        """The place of each key, -1 for one that is not there; int64, as many as `keys`."""
        import numpy as np

        asked = np.frombuffer(_joined(keys), dtype=_KEY)
        if not len(self):
            return np.full(len(asked), -1)
        at = np.minimum(np.searchsorted(self._keys, asked), len(self) - 1)
        return np.where(self._keys[at] == asked, self._by_key[at], -1)


def merged(shards: Sequence[Path], ids: Callable[[], Iterable[str]]) -> Iterator[bytes]:
    """The lines of all shards in the order of `ids`, which may be asked for again.

    Raises `DataError` before the first line where an id is missing, is there twice, or is none of
    the input.
    """
    import numpy as np

    order = Order(ids())
    places = [order.places(_keys(path)) for path in shards]
    counts = np.bincount(np.concatenate(places) + 1, minlength=len(order) + 1)
    if counts[0]:
        raise _unknown(shards, places)
    if (twice := np.flatnonzero(counts[1:] > 1)).size:
        raise DataError(f"twice in the shards: {_named(twice, ids)}: is a file named twice?")
    if (missing := np.flatnonzero(counts[1:] == 0)).size:
        raise DataError(
            f"in no shard: {_named(missing, ids)}: is a shard missing, or was its run not finished?"
        )
    pieces = [piece for pair in zip(shards, places, strict=True) for piece in _pieces(*pair)]
    return (line for _, line in heapq.merge(*pieces, key=itemgetter(0)))


def _keys(path: Path) -> Iterator[bytes]:
    return (read_key(line, f"{path}:{number}")[0] for number, line in read_lines(path))


def _joined(keys: Iterable[bytes]) -> bytearray:
    """The keys one after the other, without a list of them in between."""
    joined = bytearray()
    for key in keys:
        joined += key
    return joined


def _pieces(path: Path, places: Any) -> list[Iterator[tuple[int, bytes]]]:
    """The lines of a shard with their places, in iterators that are each in order."""
    import numpy as np

    bounds = [0, *(np.flatnonzero(np.diff(places) < 0) + 1).tolist(), len(places)]
    if len(bounds) > _PIECES:
        return [iter(sorted(_numbered(path, places, 0, len(places)), key=itemgetter(0)))]
    return [_numbered(path, places, *pair) for pair in pairwise(bounds)]


def _numbered(path: Path, places: Any, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    lines = islice(read_lines(path), start, end)
    return ((int(place), line) for place, (_, line) in zip(places[start:end], lines, strict=True))


def _unknown(shards: Sequence[Path], places: Sequence[Any]) -> DataError:
    for path, own in zip(shards, places, strict=True):
        for (number, line), place in zip(read_lines(path), own, strict=True):
            if place < 0:
                key = json_lines.loads(line, str(path))["id"]
                return DataError(
                    f'{path}:{number}: the id "{key}" is not in the input: name the input that the '
                    "shards were made from with -i"
                )
    raise AssertionError("unreachable: an unknown id was counted")


def _named(places: Any, ids: Callable[[], Iterable[str]]) -> str:
    """How many ids, and the first of them."""
    wanted = set(places[:_SHOWN].tolist())
    found = (key for place, key in enumerate(ids()) if place in wanted)
    shown = ", ".join(islice(found, len(wanted)))
    return f"{len(places)} ids ({shown}{', …' if len(places) > _SHOWN else ''})"
