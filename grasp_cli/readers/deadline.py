"""A limit on the whole of an answer.

httpx limits the silence between two pieces; a server that sends a byte now and then would never
be too slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx

_BEGAN = "grasp.began"  # among a request's extensions


class Deadline:
    """Two event hooks of an httpx client: the body must be there `seconds` after its request.

    Reading it raises `httpx.ReadTimeout` otherwise.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def on_request(self, request: httpx.Request) -> None:
        """Note when it began."""
        request.extensions[_BEGAN] = time.monotonic()

    def on_response(self, response: httpx.Response) -> None:
        """Watch over the pieces of its body."""
        stream: Any = response.stream
        until = response.request.extensions[_BEGAN] + self._seconds
        response.stream = _Watched(stream, stream.close, until)


class _Watched(httpx.SyncByteStream):
    def __init__(self, stream: Iterable[bytes], close: Callable[[], None], until: float) -> None:
        self._stream = stream
        self._close = close
        self._until = until

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if time.monotonic() > self._until:
                raise httpx.ReadTimeout("the answer is not whole in time")
            yield piece

    def close(self) -> None:
        self._close()
