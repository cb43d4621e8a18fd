"""When a server is plainly gone, and is asked no more."""

from __future__ import annotations

import threading

from grasp_cli.pipe.errors import RecordError, ServerGone


class Circuit:
    """Opens for the rest of the run after `most` failed questions in a row; safe for threads.

    A question failed when its last try did, and the server was the cause: an answer, or the
    refusal of one bad request, starts the count anew.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._failed = 0
        self._lock = threading.Lock()
        self._opened = threading.Event()
        self._why = ""

    def check(self) -> None:
        """Raise `ServerGone` where the circuit is open."""
        if self._opened.is_set():
            raise ServerGone(self._why)

    def pause(self, seconds: float) -> None:
        """Wait; raise `ServerGone` as soon as the circuit opens."""
        self._opened.wait(seconds)
        self.check()

    def answered(self) -> None:
        """A question was answered."""
        with self._lock:
            self._failed = 0

    def failed(self, error: RecordError) -> None:
        """A question was not answered; `retryable` errors are the server's."""
        if not error.retryable:
            self.answered()
            return
        with self._lock:
            self._failed += 1
            if self._failed >= self._most and not self._opened.is_set():
                self._why = f"gave up after {self._failed} failed questions in a row: {error}"
                self._opened.set()
