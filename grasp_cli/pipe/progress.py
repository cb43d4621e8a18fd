"""How far a stage is: a bar where a person watches, a line now and then where none does.

The bar is on stderr and one line high. A stage draws one only where stderr is a terminal and
standard output no pipe, so that of the stages of a pipe the last one does. All others, and all
where there is no terminal, write a plain line every `defaults.PROGRESS.seconds`.

What is still to come is told without counting lines first: plain files have a size, and the
bytes and records read so far say how many records the rest holds.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from grasp_cli import defaults
from grasp_cli.pipe.log import LOG, WIPE, piped_on, put, watched

Item = TypeVar("Item")
_BAR_WIDTH = 24
_NARROWEST = 20
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class Progress:
    """Counts of a run; told by whoever reads (`took`, `reading`) and works (`advance`)."""

    def __init__(self, size: int | None = None) -> None:
        self.done = 0
        self.status = ""  # what else is worth knowing, in a few words
        self._size = size  # bytes of all inputs, where that is known
        self._bytes = 0
        self._bytes_before = 0  # those of lines before the first that came through
        self._read = 0
        self._ended = False
        self._started = time.monotonic()
        self._first: tuple[float, int] | None = None  # when the first ones were done, and how many

    def took(self, count: int) -> None:
        """`count` bytes of input were read."""
        self._bytes += count

    def reading(self, items: Iterable[Item], *, as_done: bool = False) -> Iterator[Item]:
        """Pass `items` on and count them; as done at once, where reading them is the work."""
        self._ended = False
        for item in items:
            if not self._read:
                self._bytes_before = self._bytes
            self._read += 1
            yield item
            if as_done:
                self.advance(1)
        self._ended = True

    def advance(self, count: int) -> None:
        """`count` more are done."""
        self.done += count
        if self._first is None:
            self._first = (time.monotonic(), self.done)

    @property
    def total(self) -> int | None:
        """How many there will be: exact when all is read, before that by the size of the rest."""
        if self._ended:
            return max(self._read, self.done)
        since = self._bytes - self._bytes_before
        if self._size is None or self._read < 2 or since <= 0:
            return None
        rest = max(0, self._size - self._bytes)
        return self._read + round(rest * (self._read - 1) / since)

    @property
    def rate(self) -> float | None:
        """Items per second, without the time that the first ones waited for models to load."""
        now = time.monotonic()
        if self._first and self.done > self._first[1] and now > self._first[0]:
            return (self.done - self._first[1]) / (now - self._first[0])
        return self.done / (now - self._started) if self.done and now > self._started else None

    @property
    def seconds_left(self) -> float | None:
        """Until all is done, at this rate."""
        total, rate = self.total, self.rate
        return (total - self.done) / rate if total is not None and rate else None

    def told(self) -> str:
        """One plain sentence."""
        total, rate, left = self.total, self.rate, self.seconds_left
        about = "" if self._ended else "about "
        parts = [f"{self.done} done" + (f" of {about}{total}" if total is not None else "")]
        if rate:
            parts.append(f"{rate:.1f}/s")
        if left is not None:
            parts.append(f"{duration(left)} left")
        if self.status:
            parts.append(self.status)
        return ", ".join(parts)

    def facts(self) -> dict[str, Any]:
        """The same for the JSON form of a line."""
        rate, left = self.rate, self.seconds_left
        return {
            "event": "progress",
            "done": self.done,
            "total": self.total,
            "per_second": round(rate, 2) if rate else None,
            "seconds_left": round(left, 1) if left is not None else None,
        }


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `5 h 02 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def size_of(paths: Iterable[Path]) -> int | None:
    """Bytes of the inputs together; None where one of them is a pipe or compressed."""
    sizes = [_size(path) for path in paths]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _size(path: Path) -> int | None:
    """Bytes still to be read of a plain file; None for what is none (a pipe is not opened)."""
    source: int | Path = 0 if str(path) == "-" else path
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):
            return None
        with open(source, "rb", buffering=0, closefd=source != 0) as stream:
            begin = stream.tell()
            start = os.pread(stream.fileno(), 4, begin)  # leaves the position as it is
            compressed = start.startswith(_COMPRESSED)
            return None if compressed else os.fstat(stream.fileno()).st_size - begin
    except OSError:
        return None


@contextmanager
def watching(paths: Iterable[Path] = ()) -> Iterator[Progress]:
    """A `Progress` that is shown, as `LOG` was started, until the block ends."""
    progress = Progress(size_of(paths))
    if LOG.quiet or LOG.progress is False:
        yield progress
        return
    show = Bar(progress) if draws_bar() else Lines(progress)
    ended = threading.Event()
    ticker = threading.Thread(target=_tick, args=(show, ended), name="progress", daemon=True)
    ticker.start()
    try:
        yield progress
    finally:
        ended.set()
        ticker.join()
        show.end()


def draws_bar() -> bool:
    """Whether this stage is the one that a person at the terminal looks at."""
    return not LOG.as_json and watched() and (LOG.progress is True or not piped_on())


def aside(to_terminal: bool) -> AbstractContextManager[object]:
    """Within it no bar stands in the way: for data that go to the same terminal."""
    return _wiped() if to_terminal and os.isatty(1) else nullcontext()


@contextmanager
def _wiped() -> Iterator[None]:
    with LOG.lock:
        if LOG.bar:
            put(WIPE)
        yield
        if LOG.bar:
            LOG.bar()


class Lines:
    """A plain line now and then."""

    def __init__(self, progress: Progress) -> None:
        self.every = defaults.PROGRESS.seconds
        self._progress = progress

    def show(self) -> None:
        """Write one."""
        LOG.say(self._progress.told(), **self._progress.facts())

    def end(self) -> None:
        """Nothing stays behind."""


class Bar:
    """One line at the bottom of the terminal, drawn by rich, which is loaded for it alone."""

    def __init__(self, progress: Progress) -> None:
        self.every = defaults.PROGRESS.redraw
        self._progress = progress
        self._console: Any = None

    def show(self) -> None:
        """Draw, and stay below the lines that are said."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(stderr=True)
        with LOG.lock:
            LOG.bar = self._draw
            self._draw()

    def end(self) -> None:
        """Wipe it away."""
        with LOG.lock:
            if LOG.bar:
                LOG.bar = None
                put(WIPE)

    def _draw(self) -> None:
        put(WIPE + self._line())

    def _line(self) -> str:
        from rich.progress_bar import ProgressBar
        from rich.segment import Segments
        from rich.table import Table
        from rich.text import Text

        progress, console = self._progress, self._console
        bar = ProgressBar(total=progress.total, completed=progress.done, width=_BAR_WIDTH)
        name, told = f"grasp {LOG.stage}", progress.told()
        grid = Table.grid(padding=(0, 1))
        for least in (len(name), 4, None):
            grid.add_column(no_wrap=True, overflow="ellipsis", min_width=least)
        grid.add_row(Text(name, style="bold"), bar, Text(told))
        width = max(_NARROWEST, console.width - 1)  # in its last column a terminal may wrap
        line = console.render_lines(grid, console.options.update(width=width), pad=False)[0]
        with console.capture() as captured:
            console.print(Segments(line), end="")
        return str(captured.get())


def _tick(shown: Bar | Lines, ended: threading.Event) -> None:
    while not ended.wait(shown.every):
        shown.show()
