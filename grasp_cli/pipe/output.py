"""Where a stage's records go: to standard output, or to a FILE that can be continued.

FILE appears when it is complete. Until then its records are in FILE.part, which stays when the run
is broken off, and FILE.manifest.json says how they are made. To resume means to write after the
records that FILE.part holds, else after those of FILE. A record that is done again stands twice in
FILE.part for a while; FILE has it once, in its old place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.done import Done, digest, each_once
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.expectation import Expectation
from grasp_cli.pipe.manifest import Manifest, Recipe, place_of
from grasp_cli.pipe.packing import WholeLines
from grasp_cli.pipe.part import Part
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sinks import Sink, open_stream

Story = Mapping[str, Any]  # how a run went: counts, seconds, exit code


class Output(Protocol):
    """Takes records."""

    @property
    def count(self) -> int:
        """Records written by this run."""
        ...

    @property
    def failed_earlier(self) -> int:
        """Failed records that are in the file, of earlier runs or of this one."""
        ...

    def write(self, record: Record) -> None: ...
    def flush(self) -> None: ...
    def holds(self, record: Record) -> bool: ...


class StreamOutput:
    """Standard output, or a device: what is written is gone."""

    failed_earlier = 0

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.write, self.flush = sink.write, sink.flush

    @property
    def count(self) -> int:
        """Records written."""
        return self._sink.count

    def holds(self, record: Record) -> bool:
        """Nothing is there already."""
        return False


@contextmanager
def open_stream_output(
    path: Path | None, expectation: Expectation | None
) -> Iterator[StreamOutput]:
    """Write to `path` (None: standard output) as it is; the expectation is checked at the end."""
    with open_stream(path) as stream:
        sink = Sink(stream, expectation)
        yield StreamOutput(sink)
        sink.flush()
        sink.check()


@dataclass(frozen=True)
class Resuming:
    """`--resume`, and `--force`: whatever the manifest says."""

    asked: bool = False
    force: bool = False


class FileOutput:
    """FILE by way of FILE.part. End with `finish` or `leave`.

    Raises `BusyError` where another process writes FILE, and `UsageError` where it was made
    otherwise than `recipe` says.
    """

    def __init__(
        self,
        path: Path,
        recipe: Recipe,
        resuming: Resuming | None = None,
        expectation: Expectation | None = None,
    ) -> None:
        self.path = path
        self.count = 0
        self.extends = False  # whether FILE's own records are among those of FILE.part
        self._recipe = recipe
        self._expectation = expectation
        self._begun = False  # whether FILE.part is ours: its records and its manifest
        self._failed_before = 0  # records of FILE that failed in runs that told of it
        self._done: Done | None = None
        self._part = Part(path)
        try:
            if resuming and resuming.asked:
                self._take_up(resuming.force)
        except BaseException:
            self._part.leave()
            raise
        if self._done is None and expectation and expectation.ids:
            self._done = Done(recipe.stage)

    @property
    def part(self) -> Path:
        """FILE.part."""
        return self._part.path

    @property
    def total(self) -> int:
        """Records that FILE would have if it were finished now."""
        return len(self._done) if self._done is not None else self.count

    @property
    def kept(self) -> int:
        """Records in FILE.part."""
        return self.total if self._begun else 0

    @property
    def failed(self) -> int:
        """Records with an error of this stage, as far as the file's records are known."""
        return self._done.failed if self._done else 0

    @property
    def failed_earlier(self) -> int:
        """Failed records in FILE.part, this run's too, that no finished run has told of."""
        return max(0, self.failed - self._failed_before)

    @property
    def untouched(self) -> bool:
        """Whether FILE is there and this run had nothing to add."""
        return self.extends and not self._begun

    def holds(self, record: Record) -> bool:
        """Whether the record is done."""
        return self._done is not None and self._done.holds(record)

    def write(self, record: Record) -> None:
        """Write one record as one line."""
        if not self._begun:
            self._begin()
        self._part.write_line(json_lines.dumps(record))
        self.count += 1
        if self._done is not None:
            self._done.take(digest(record["id"]), record.get("error"))

    def flush(self) -> None:
        """Put what was written on disk."""
        self._part.flush()

    def finish(self, story: Story) -> None:
        """Check the expectation and put FILE in its place."""
        if self._expectation:
            self._expectation.check(self.total, self._knows)
        if self.untouched:
            self._part.leave()
            return
        if not self._begun:
            self._begin()
        self._part.flush()
        if self._done is not None and self._done.replaced:
            with tempfile.TemporaryFile(dir=self.path.parent) as store:
                self._part.rewrite(each_once(self._part.lines, self._done.replaced, store))
        self._tell(story, complete=True)
        self._part.finish()

    def leave(self, story: Story) -> None:
        """Keep the records so far in FILE.part; the manifest says how it came to that."""
        try:
            self._part.leave()
        finally:
            self._tell_failure(story)

    def _take_up(self, force: bool) -> None:
        """Note what is there to go on with, if anything."""
        done = Done(self._recipe.stage)
        for number, line in enumerate(self._part.lines(), start=1):
            done.note(line, f"{self.part}:{number}")
        manifest = Manifest.read(self.path)
        if len(done):
            self._guard(self.part, manifest, force)
            self._failed_before = manifest.failed_before if manifest else 0
            self.extends = bool(manifest and manifest.complete)
            self._done = done
            self._part.go_on()
            self._begun = True
            self._tell({"exit": None})
        elif self.path.is_file() and (manifest is None or manifest.complete):
            self._guard(self.path, manifest, force)
            lines = WholeLines(self.path, self.path)
            for number, line in enumerate(lines, start=1):
                done.note(line, f"{self.path}:{number}")
            if lines.torn.strip():
                done.note(lines.torn, f"{self.path}: last line")
            self._failed_before = done.failed
            self.extends, self._done = True, done

    def _guard(self, path: Path, manifest: Manifest | None, force: bool) -> None:
        if force:
            return
        if manifest is None:
            raise UsageError(
                f"{path}: there is no {place_of(self.path).name} that says how this was made: "
                "add --force to go on with it, or leave --resume out to begin anew"
            )
        if differences := self._recipe.differences(manifest.recipe):
            raise UsageError(
                f"{path} was made otherwise ({'; '.join(differences)}): give what it was made "
                "with, add --force to mix both, or leave --resume out to begin anew"
            )

    def _begin(self) -> None:
        """Make FILE.part ours, just before the first record."""
        if self.extends:
            self._part.copy(self.path)
        else:
            self._part.clear()  # of what an interrupted job left, too: nobody said --resume
        self._begun = True
        self._tell({"exit": None})

    def _knows(self, key: str) -> bool:
        return self._done is not None and self._done.knows(key)

    def _tell(self, story: Story, complete: bool | None = None) -> None:
        of_file = self.extends if complete is None else complete
        recipe = self._recipe.as_json()
        Manifest(recipe, of_file, self._failed_before, story).write(self.path)

    def _tell_failure(self, story: Story) -> None:
        """Of a run that wrote nothing, in the manifest of what is there."""
        if self._begun:
            self._tell(story)
            return
        if there := Manifest.read(self.path):
            Manifest(there.recipe, there.complete, there.failed_before, story).write(self.path)
        elif not self.path.exists() and not self.part.exists():
            self._tell(story)
