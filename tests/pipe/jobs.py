"""Jobs for tests: stages that need no model, and a run of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grasp_cli.pipe.engine import Outcome
from grasp_cli.pipe.errors import RecordError, ServerMissing
from grasp_cli.pipe.job import Job, Plan
from grasp_cli.pipe.manifest import Recipe
from grasp_cli.pipe.output import Resuming
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import read_records


@dataclass
class Upper:
    """Writes the question in capitals; some records fail, and `break_at` raises."""

    failing: dict[str, RecordError] = field(default_factory=dict)
    break_at: str | None = None
    window: int = 3
    name: str = "upper"
    on: Callable[[str], None] = lambda key: None
    seen: list[str] = field(default_factory=list)

    def process(self, records: Sequence[Record]) -> Iterable[Outcome]:
        for record in records:
            key = record["id"]
            self.seen.append(key)
            self.on(key)
            if key == self.break_at:
                raise RuntimeError("broken")
            yield self.failing.get(key) or {**record, "upper": record["question"].upper()}


GONE = ServerMissing("no server")
BAD = RecordError("cannot be done")


def questions(path: Path, ids: Iterable[Any], **more: Any) -> Path:
    """A file of questions with these ids."""
    lines = [json.dumps({"id": str(key), "question": f"about {key}", **more}) for key in ids]
    path.write_text("".join(line + "\n" for line in lines))
    return path


@dataclass
class Ran:
    """How a job ended."""

    code: int | None
    error: BaseException | None
    said: list[str]
    stage: Upper
    job: Job


def work(
    source: Path | list[Path],
    output: Path | None,
    stage: Upper | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    recipe: Recipe | None = None,
    **plan: Any,
) -> Ran:
    """Run a job to its end, whatever that is."""
    stage, said = stage or Upper(), list[str]()
    inputs = source if isinstance(source, list) else [source]
    asked = Plan(inputs, output, resuming=Resuming(resume, force), **plan)
    job = Job(asked, said.append, said.append)
    records = read_records(inputs, fingerprint=job.fingerprint)
    try:
        code = job.run(stage, records, lambda: recipe or Recipe("upper", {"top_k": 5}))
    except BaseException as error:  # noqa: BLE001 - handed to the test
        return Ran(None, error, said, stage, job)
    return Ran(code, None, said, stage, job)
