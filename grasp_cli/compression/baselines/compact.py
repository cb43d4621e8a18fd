"""CompAct: a summary that grows by five documents at a time, until it suffices.

Yoon et al. 2024 (arXiv 2407.09014): a model writes a summary and judges whether it has all that the
question needs; with [INCOMPLETE] the next documents are read beside the summary and that judgement,
with [COMPLETE] it ends. The reader gets the last summary. The instructions are in our words; those
that a model was trained on can be given in a file (`--instruction`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from grasp_cli.compression.baselines.written import too_long, written
from grasp_cli.compression.tasks import Passage, Selection, Task
from grasp_cli.models.writing import CausalWriter, fitted
from grasp_cli.pipe.errors import DataError, RecordError

DOCUMENTS, MOST_NEW, MOST_ROUNDS = 5, 500, 6
COMPLETE = "[COMPLETE]"
PARTED = re.compile(r"^---\s*$", re.MULTILINE)
_OUTPUT = re.compile(r"^(?:\s*Summary:)?(.*?)(?:Evaluation:(.*))?$", re.DOTALL)
_VERDICT = re.compile(r"\[(?:IN)?COMPLETE\]")

_SUMMARISE = (
    "1. Summarise what in {} helps to answer the question, in fewer than 200 words and without "
    "pronouns. Do not guess and do not answer the question: only summarise.\n\n"
    "2. Evaluate the summary by what it says alone. If it lacks details that the question needs, "
    "print '[INCOMPLETE]'; if it has all of them, print '[COMPLETE]'. Give the reason."
)


class Instructions(NamedTuple):
    """What the model is asked in the first round and in the later ones."""

    first: str = _SUMMARISE.format("the source documents")
    later: str = _SUMMARISE.format(
        "the previous summary and the source documents (the evaluation of the previous summary "
        "says what was missing)"
    )

    @classmethod
    def of(cls, file: str | None) -> Instructions:
        """The two instructions of a file, parted by a line `---`; without that line, one for all.

        Raises `DataError` where the file cannot be read or is empty.
        """
        if file is None:
            return cls()
        try:
            parts = [part.strip() for part in PARTED.split(Path(file).read_text("utf-8"), 1)]
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{file}: cannot be read as an instruction: {error}") from None
        if not all(parts):
            raise DataError(f"{file}: an instruction is empty; write it, or leave the option out")
        return cls(parts[0], parts[-1])


class _Round(NamedTuple):
    """What a round left: its summary, its evaluation, and the tokens cut off its documents."""

    summary: str = ""
    evaluation: str = ""
    cut: int = 0


class CompAct:
    """Writes a summary instead of the contexts, in rounds."""

    name = "compact"

    def __init__(self, writer: CausalWriter, instructions: Instructions) -> None:
        self.writer = writer
        self.instructions = instructions

    def load(self) -> None:
        """Load the model."""
        self.writer.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Summarise each task, one after the other."""
        return [self._selection(task) for task in tasks]

    def _selection(self, task: Task) -> Selection | RecordError:
        passages = [passage for passage in task.passages if passage.sentences]
        last, cut = _Round(), 0
        groups = [passages[i : i + DOCUMENTS] for i in range(0, len(passages), DOCUMENTS)]
        for number, group in enumerate(groups[:MOST_ROUNDS]):
            found = self._round(task.question, group, last, first=number == 0)
            if isinstance(found, RecordError):
                return found
            last, cut = found, cut + found.cut
            if COMPLETE in last.evaluation:
                break
        return written(task, last.summary, cut)

    def _round(
        self, question: str, group: Sequence[Passage], last: _Round, *, first: bool
    ) -> _Round | RecordError:
        documents = "\n".join(f"{one.title} {one.text}".strip() for one in group)

        def prompt(text: str) -> list[int]:
            return self.writer.chat(self._message(question, text, last, first))

        positions = self.writer.positions
        most = positions - MOST_NEW if positions else len(prompt(documents))
        found = fitted(documents, prompt, self.writer.tokenizer, most)
        if found is None:
            return too_long(self.writer.name, most)
        tokens, cut = found
        summary, evaluation = parsed(self.writer.write(tokens, MOST_NEW))
        return _Round(summary, evaluation, cut)

    def _message(self, question: str, documents: str, last: _Round, first: bool) -> str:
        judged = _VERDICT.sub("", last.evaluation).strip()
        previous = [
            f"Previous summary: {last.summary}",
            f"Evaluation of previous summary: {judged}",
        ]
        parts = [
            self.instructions.first if first else self.instructions.later,
            f"Question: {question}",
            *([] if first else previous),
            f"Source documents: {documents}",
            "Summary:",
        ]
        return "\n\n".join(parts)


def parsed(output: str) -> tuple[str, str]:
    """Summary and evaluation of what the model wrote, blank lines joined."""
    found = _OUTPUT.match(output)
    summary, evaluation = found.groups("") if found else (output, "")
    return (re.sub(r"\n{2,}", "\n", summary).strip(), re.sub(r"\n{2,}", "\n", evaluation).strip())
