"""RECOMP's abstractive compressor: a T5 that summarises the passages for the question.

Xu, Shi and Choi 2023 (arXiv 2310.04408): 5 beams, length penalty 2.0, at most 300 new tokens. An
empty summary means that the passages do not help, and `--on-empty` says what then stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.written import too_long, written
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.models.writing import Seq2SeqWriter, fitted
from grasp_cli.pipe.errors import RecordError

TEMPLATE = "Question: {}\n Document: {}\n Summary: "
MOST_INPUT, MOST_NEW, BEAMS, LENGTH_PENALTY = 1024, 300, 5, 2.0


class RecompAbstractive:
    """Writes a summary instead of the contexts."""

    name = "recomp-abstractive"

    def __init__(self, writer: Seq2SeqWriter) -> None:
        self.writer = writer

    def load(self) -> None:
        """Load the model."""
        self.writer.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Summarise each task, one after the other."""
        return [self._selection(task) for task in tasks]

    def _selection(self, task: Task) -> Selection | RecordError:
        documents = "\n".join(passage.text for passage in task.passages if passage.sentences)

        def prompt(text: str) -> list[int]:
            return self.writer.tokens(TEMPLATE.format(task.question, text))

        found = fitted(documents, prompt, self.writer.tokenizer, MOST_INPUT)
        if found is None:
            return too_long(self.writer.name, MOST_INPUT)
        if not documents:
            return written(task, "", 0)
        tokens, cut = found
        summary = self.writer.write(
            tokens, most=MOST_NEW, beams=BEAMS, length_penalty=LENGTH_PENALTY
        )
        return written(task, summary, cut)
