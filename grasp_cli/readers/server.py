"""What can go wrong with a server, told by type and status, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grasp_cli.pipe.errors import RecordError, ServerMissing, TooSlow, UsageError
from grasp_cli.pipe.masking import masked
from grasp_cli.readers.reader import ReaderSettings
from grasp_cli.readers.retry_after import seconds_asked

if TYPE_CHECKING:
    import httpx

_NOT_FOUND = 404
_KEY_REFUSED = (401, 403)
_TOO_MANY = 429
_QUOTED = 200  # characters of what a server says


@dataclass(frozen=True)
class Server:
    """Where a server is, and what to do when it or the model on it is not there."""

    url: str
    how_to_start: str
    how_to_get_model: str
    settings: ReaderSettings

    @cached_property
    def shown(self) -> str:
        """The address for messages: without a name and password in it."""
        return masked(self.url)

    def client_options(self) -> dict[str, Any]:
        """What an httpx client is made with: time limits, room for all requests, status check."""
        import httpx

        from grasp_cli.readers.deadline import Deadline

        settings = self.settings
        deadline = Deadline(settings.connect_timeout + settings.read_timeout)
        return {
            # A request never waits for a free connection of ours.
            "timeout": httpx.Timeout(
                settings.read_timeout, connect=settings.connect_timeout, pool=None
            ),
            "limits": httpx.Limits(
                max_connections=settings.concurrency,
                max_keepalive_connections=settings.concurrency,
            ),
            "event_hooks": {
                "request": [deadline.on_request],
                "response": [deadline.on_response, self._check],
            },
        }

    def _check(self, response: httpx.Response) -> None:
        """Raise the `RecordError` that a status other than success or a redirect stands for."""
        if not response.is_error:
            return
        response.read()
        error = self._status_error(response.status_code, _said(response))
        if error.again:
            headers = response.headers
            error.wait = seconds_asked(headers.get("Retry-After"), headers.get("Date"))
        raise error

    def _status_error(self, status: int, said: str) -> RecordError:
        if status == _NOT_FOUND:
            return ServerMissing(
                f"the server at {self.shown} has no model {self.settings.model}: "
                f"{self.how_to_get_model}",
                kind="ModelMissing",
            )
        if status in _KEY_REFUSED:
            return ServerMissing(
                f"{self.shown} refused the key (HTTP {status}): set OPENAI_API_KEY to a valid one",
                kind="KeyRefused",
            )
        shown = masked(" ".join(said.split()))[:_QUOTED] or "no explanation"
        if status == _TOO_MANY or status >= 500:
            return worth_repeating(
                f"{self.shown} failed (HTTP {status}): {shown}; try again", kind="ServerError"
            )
        return RecordError(
            f"{self.shown} refused the request (HTTP {status}): {shown}", kind="RequestRefused"
        )


def _said(response: httpx.Response) -> str:
    """The explanation in an error's body: its `error` or that one's `message`, else all of it."""
    try:
        value = response.json()
    except ValueError:
        return response.text
    error = value.get("error") if isinstance(value, dict) else None
    error = error.get("message") if isinstance(error, dict) else error
    return error if isinstance(error, str) else response.text


def retryable(message: str, kind: str) -> RecordError:
    """A failure of this one request that a later run may not meet."""
    error = RecordError(message, kind=kind)
    error.retryable = True
    return error


def worth_repeating(message: str, kind: str) -> RecordError:
    """A failure of this one request that another try may not meet."""
    error = retryable(message, kind)
    error.again = True
    return error


@contextmanager
def explained(server: Server) -> Iterator[None]:
    """Turn what a request raises into one clear `RecordError`.

    Nothing listening → `ServerMissing`; silence → `TooSlow`; a cut connection → `RecordError`.
    """
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError):
        missing = ServerMissing(
            f"no server answers at {server.shown}: {server.how_to_start}, or name another with "
            "--url"
        )
        missing.again = True
        raise missing from None
    except httpx.TimeoutException:
        raise TooSlow(
            f"{server.shown}: no answer within {server.settings.read_timeout:g} s; allow more with "
            "--read-timeout or ask less at once with --concurrency"
        ) from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise UsageError(
            f"--url {server.shown}: not the address of a server; it looks like http://host:port"
        ) from None
    except httpx.TransportError as error:
        raise worth_repeating(
            f"{server.shown}: the connection was cut ({type(error).__name__}); try again",
            kind="ConnectionCut",
        ) from None


def garbage(server: Server) -> RecordError:
    """The failure of an answer that is not what the protocol says."""
    return retryable(
        f"{server.shown}: the answer is not what this kind of server sends; is the address right?",
        kind="BadReply",
    )
