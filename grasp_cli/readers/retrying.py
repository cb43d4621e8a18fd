"""A reader that tries again."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from grasp_cli import defaults
from grasp_cli.pipe.errors import RecordError
from grasp_cli.readers.circuit import Circuit
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import Reader, ReaderSettings, Reply


class RetryingReader:
    """Asks `reader` again where a failure is worth it, and no more once the server is gone.

    Waits double from try to try, a random half of each taken off so that several clients do not
    come back at once; what the server asks for (Retry-After) goes first. No wait is longer than
    `settings.max_wait` seconds. `say` gets one line at the first retry of a run.
    """

    def __init__(
        self, reader: Reader, settings: ReaderSettings, say: Callable[[str], None]
    ) -> None:
        self.name = reader.name
        self.model = reader.model
        self._reader = reader
        self._settings = settings
        self._say = say
        self._said = threading.Lock()  # taken once, for good
        self._circuit = Circuit(max(settings.give_up_after, settings.concurrency))

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """As `reader` has it."""
        return self._reader.request(prompt)

    def answer(self, prompt: Prompt) -> Reply:
        """Answer, or raise the error of the last try; `ServerGone` once the server is gone."""
        self._circuit.check()
        tries = 0
        while True:
            try:
                reply = self._reader.answer(prompt)
            except RecordError as error:
                if not error.again or tries >= self._settings.retries:
                    self._circuit.failed(error)
                    raise
                self._tell(error)
                self._circuit.pause(pause_before(tries, error.wait, self._settings.max_wait))
                tries += 1
            else:
                self._circuit.answered()
                return reply

    def _tell(self, error: RecordError) -> None:
        if self._said.acquire(blocking=False):
            most = self._settings.retries
            self._say(f"a question is asked again, up to {most} times (said once), since {error}")


def pause_before(retry: int, asked: float | None, most: float) -> float:
    """Seconds to wait before the `retry`-th retry, from 0; `asked` is the server's wish."""
    if asked is not None:
        return min(asked, most)
    wait = min(defaults.ANSWER.first_wait * 2.0 ** min(retry, 60), most)
    return wait * random.uniform(0.5, 1.0)
