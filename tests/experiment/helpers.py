"""An experiment on stand-ins for models, in one process and a few milliseconds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from grasp_cli.cli.experiment import read
from grasp_cli.experiment.config import Method
from grasp_cli.experiment.folder import Folder
from grasp_cli.experiment.runner import Runner, Tools
from grasp_cli.pipe.engine import Stage
from grasp_cli.pipe.errors import MissingError, RecordError, ServerMissing

GOLD = "The mill was built in 1874."
TEXT = f"Harrow Mill stands on the Tove. {GOLD} It is a museum now."


def question(number: int, **more: Any) -> dict[str, Any]:
    start = TEXT.index(GOLD)
    return {
        "id": f"q{number}",
        "question": f"When was mill {number} built?",
        "answers": ["1874"],
        "evidence_gold": [{"id": f"d{number}", "start": start, "end": start + len(GOLD)}],
        "contexts": [{"id": f"d{number}", "title": "Mill", "text": TEXT}],
        **more,
    }


def jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


CONFIG = """
[reader]
model = "stand-in"
[[datasets]]
name = "mills"
questions = "mills.jsonl"
[[methods]]
name = "none"
[[methods]]
name = "lead"
"""


class Half:
    """Compresses to a part of the text, and says what it was given."""

    name, window = "compress", 3

    def __init__(self, method: str, asked: list[str], stop_at: str | None = None) -> None:
        self.method, self.asked, self.stop_at = method, asked, stop_at

    def process(self, records: Sequence[dict[str, Any]]) -> Iterable[Any]:
        for record in records:
            if record["id"] == self.stop_at:
                raise KeyboardInterrupt
            self.asked.append(f"{self.method} {record['id']}")
            whole = self.method == "none"
            said = {"tokens_in": 20, "tokens_out": 20 if whole else 5, "seconds": 0.25}
            yield {**record, "context": TEXT if whole else TEXT[:31], "compression": said}


class Reader:
    """Answers 1874 where the context has it."""

    name, window = "answer", 1

    def __init__(self) -> None:
        self.fails: dict[str, RecordError] = {}
        self.asked: list[str] = []

    def process(self, records: Sequence[dict[str, Any]]) -> Iterable[Any]:
        for record in records:
            self.asked.append(record["id"])
            if record["id"] in self.fails:
                yield self.fails[record["id"]]
            else:
                answer = "1874" if "1874" in record["context"] else "unknown"
                yield {**record, "answer": answer, "reader": {"seconds": 0.5}}


class Bench:
    """A directory with a config and what a run of it calls."""

    def __init__(self, root: Path, config: str = CONFIG, count: int = 7) -> None:
        self.root, self.config = root, config
        jsonl(root / "mills.jsonl", (question(number) for number in range(count)))
        self.asked: list[str] = []
        self.built: list[str] = []
        self.said: list[str] = []
        self.missing: set[str] = set()
        self.stop_at: str | None = None
        self.reader = Reader()
        self.folder = Folder(root / "out")

    def compressor(self, method: Method) -> Stage:
        self.built.append(method.name)
        if method.name in self.missing:
            raise MissingError(f"no model of {method.name}:\nget it")
        return Half(method.name, self.asked, self.stop_at if method.name == "lead" else None)

    def runner(self, **changes: Any) -> Runner:
        path = self.root / "e.toml"
        path.write_text(self.config)
        experiment = read(path, **changes)
        tools = Tools(
            build_index=lambda documents, directory: self.asked.append(
                f"index {len(list(documents))}"
            ),
            open_index=lambda directory: Search(),
            compressor=self.compressor,
            reader=self.reader if experiment.reader else None,
        )
        return Runner(experiment, self.folder, tools, self.said.append)

    def cell(self, method: str, dataset: str = "mills") -> list[dict[str, Any]]:
        path = self.root / "out" / "cells" / dataset / f"{method}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


class Search:
    """Finds forty passages for each question."""

    name, window = "retrieve", 64

    def process(self, records: Sequence[dict[str, Any]]) -> Iterable[Any]:
        for record in records:
            found = [{"id": f"p{rank}", "text": TEXT, "rank": rank} for rank in range(1, 41)]
            yield {**record, "contexts": found}


def unreachable() -> ServerMissing:
    return ServerMissing("no server answers at there: start it")
