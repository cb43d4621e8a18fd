"""Refiner: an adapted Llama 2 that copies out what the question needs, as numbered sections.

Li et al. 2024 (arXiv 2406.11357). Documents stand as `## title`, a newline and their text, a line
`---` between them, at most 3,500 tokens, in the system part behind `[MONITOR]`. Numbered sections
are kept; what else the model writes is left out, unless it numbers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.written import too_long, written
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.models.writing import CausalWriter, fitted
from grasp_cli.pipe.errors import RecordError

TEMPLATE = "[INST]<<SYS>>[MONITOR]{}<</SYS>>{}[/INST] "
MOST_DOCUMENTS, MOST_NEW = 3500, 512
_SECTION = re.compile(  # "1. …" or "1.2 …", not a year at the start of a line
    r"^[ \t]*(\d{1,2}(?:\.\d{1,2})+|\d{1,2}(?=\.))\.?(?:[ \t]+|$)", re.MULTILINE
)


class Refiner:
    """Writes sections instead of the contexts."""

    name = "refiner"

    def __init__(self, writer: CausalWriter) -> None:
        self.writer = writer

    def load(self) -> None:
        """Load the model."""
        self.writer.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Refine each task, one after the other."""
        return [self._selection(task) for task in tasks]

    def _selection(self, task: Task) -> Selection | RecordError:
        documents = "\n---\n".join(
            f"## {passage.title}\n{passage.text}" for passage in task.passages if passage.sentences
        )
        if not documents:
            return written(task, "", 0)
        positions = self.writer.positions
        around = len(self._prompt(task.question, ""))
        most = MOST_DOCUMENTS + around
        if positions:
            most = min(most, positions - MOST_NEW)

        def prompt(text: str) -> list[int]:
            return self._prompt(task.question, text)

        found = fitted(documents, prompt, self.writer.tokenizer, most)
        if found is None:
            return too_long(self.writer.name, most)
        tokens, cut = found
        return written(task, sections(self.writer.write(tokens, MOST_NEW)), cut)

    def _prompt(self, question: str, documents: str) -> list[int]:
        return self.writer.plain(TEMPLATE.format(documents, question))


def sections(output: str) -> str:
    """The numbered sections of what the model wrote, a line each; without any, all of it."""
    starts = list(_SECTION.finditer(output))
    if not starts:
        return output.strip()
    ends = [*(found.start() for found in starts[1:]), len(output)]
    found = [
        (start.group(1), " ".join(output[start.end() : end].split()))
        for start, end in zip(starts, ends, strict=True)
    ]
    return "\n".join(dict.fromkeys(f"{number} {text}" for number, text in found if text))
