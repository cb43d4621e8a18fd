"""Threads that nobody waits for at the end of the process.

`ThreadPoolExecutor` joins its threads when the interpreter ends: a run that was stopped would
hang for as long as a server keeps a request open.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class DaemonThreads:
    """Calls functions in up to `workers` threads, each started when there is work for it."""

    def __init__(self, workers: int) -> None:
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._workers = workers
        self._started = 0

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """The future result of `function(*arguments)`, which can be cancelled until it begins.

        Called from one thread.
        """
        future: Future[T] = Future()
        self._work.put((future, function, arguments))
        if not self._idle.acquire(blocking=False) and self._started < self._workers:
            self._started += 1
            threading.Thread(target=self._run, name="worker", daemon=True).start()
        return future

    def close(self) -> None:
        """Forget what was not begun; each thread ends after what it is doing."""
        try:
            while True:
                self._work.get_nowait()
        except queue.Empty:
            pass
        for _ in range(self._started):
            self._work.put(None)

    def _run(self) -> None:
        while work := self._work.get():
            future, function, arguments = work
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*arguments)
                except BaseException as error:  # noqa: BLE001 - raised again by whoever asks
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del work, future, function, arguments
            self._idle.release()
