"""SIGINT and SIGTERM: what is in flight may finish, within limits; nothing new is begun.

A handler only raises where nothing can be torn: while the run waits for input at once, while a
batch is computed after a delay or on the second signal, and never while records are written.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType
from typing import TypeVar

from grasp_cli.defaults import JOB
from grasp_cli.pipe.errors import Interrupted

T = TypeVar("T")


class _Phase(Enum):
    waiting = "for input, with nothing in flight"
    working = "on a batch"
    writing = "records"


class Interruption:
    """Whether somebody asked this run to stop. Without `installed` nobody ever does."""

    def __init__(self, grace: float = JOB.grace) -> None:
        self._grace = grace
        self._phase = _Phase.working
        self._signal: int | None = None
        self._overdue = False

    @property
    def asked(self) -> bool:
        """Whether to stop after what is in flight."""
        return self._signal is not None

    def check(self) -> None:
        """Raise `Interrupted` if somebody asked."""
        if self._signal is not None:
            raise Interrupted(self._signal)

    def wait(self, get: Callable[[], T]) -> T:
        """What `get` gives; meanwhile nothing is in flight, so a signal is obeyed at once."""
        self._phase = _Phase.waiting
        try:
            self.check()
            return get()
        finally:
            self._phase = _Phase.working

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A block that no signal breaks off."""
        self._phase = _Phase.writing
        try:
            yield
        finally:
            self._phase = _Phase.working
        if self._overdue:
            self.check()

    @contextmanager
    def installed(self) -> Iterator[Interruption]:
        """Handle the signals, unless this is not the main thread or they are to be ignored."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {signal.SIGALRM: signal.signal(signal.SIGALRM, self._on_alarm)}
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, self._on_signal)
        try:
            yield self
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again, self._signal = self.asked, self._signal or number
        if again or self._phase is _Phase.waiting:
            self._on_alarm(number, frame)
        else:
            signal.setitimer(signal.ITIMER_REAL, self._grace)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        self._overdue = True
        if self._phase is not _Phase.writing:
            self.check()
