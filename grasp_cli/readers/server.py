"""What can go wrong with a server, told by type and status, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grasp_cli.pipe.errors import RecordError, ServerMissing, TooSlow, UsageError
from grasp_cli.readers.reader import ReaderSettings

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Server:
    """Where a server is, and what to do when it is not there."""

    url: str
    how_to_start: str
    settings: ReaderSettings


def retryable(message: str, kind: str) -> RecordError:
    """A failure of this one request that another try may not meet."""
    error = RecordError(message, kind=kind)
    error.retryable = True
    return error


@contextmanager
def explained(server: Server) -> Iterator[None]:
    """Turn what a request raises into one clear `RecordError`.

    Nothing listening → `ServerMissing`; silence → `TooSlow`; a cut connection or an answer that
    makes no sense → `RecordError`.
    """
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError):
        raise ServerMissing(
            f"no server answers at {server.url}: {server.how_to_start}, or name another with --url"
        ) from None
    except httpx.TimeoutException:
        raise TooSlow(
            f"{server.url}: no answer within {server.settings.read_timeout:g} s; allow more with "
            "--read-timeout or ask less at once with --concurrency"
        ) from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise UsageError(
            f"--url {server.url}: not the address of a server; it looks like http://host:port"
        ) from None
    except httpx.TransportError as error:
        raise retryable(
            f"{server.url}: the connection was cut ({type(error).__name__}); try again",
            kind="ConnectionCut",
        ) from None


def status_error(server: Server, status: int, said: str) -> RecordError:
    """The failure that an HTTP status other than success and "not found" stands for."""
    shown = " ".join(said.split())[:200] or "no explanation"
    if status in (401, 403):
        return ServerMissing(
            f"{server.url} refused the key (HTTP {status}): set OPENAI_API_KEY to a valid one",
            kind="KeyRefused",
        )
    if status == 429 or status >= 500:
        return retryable(
            f"{server.url} failed (HTTP {status}): {shown}; try again", kind="ServerError"
        )
    return RecordError(
        f"{server.url} refused the request (HTTP {status}): {shown}", kind="RequestRefused"
    )


def garbage(server: Server) -> RecordError:
    """The failure of an answer that is not what the protocol says."""
    return retryable(
        f"{server.url}: the answer is not what this kind of server sends; is the address right?",
        kind="BadReply",
    )


def timeouts(settings: ReaderSettings) -> httpx.Timeout:
    """httpx timeouts; a request never waits for a free connection of ours."""
    import httpx

    return httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout, pool=None)
