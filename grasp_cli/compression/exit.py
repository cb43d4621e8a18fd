"""EXIT: every sentence is judged by itself, in its document, and none is filtered out before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.classifiers import SpanClassifier
from grasp_cli.compression.grasp import judged
from grasp_cli.compression.tasks import Selection, Task, Unit
from grasp_cli.defaults import CompressDefaults
from grasp_cli.pipe.errors import RecordError


class Exit:
    """The span classifier on every sentence."""

    def __init__(
        self,
        classifier: SpanClassifier,
        options: CompressDefaults,
        borderline: float,
        name: str = "exit",
    ) -> None:
        self.name = name
        self.classifier = classifier
        self.options = options
        self.borderline = borderline  # scores this near the threshold are counted

    def load(self) -> None:
        """Load the model."""
        self.classifier.load()

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection | RecordError]:
        """Judge the sentences of a window of tasks."""
        refusals = [self.classifier.refusal(task) for task in tasks]
        fit = [task for task, why in zip(tasks, refusals, strict=True) if why is None]
        units = [_sentences(task) for task in fit]
        done = iter(judged(self.classifier, fit, units, self.options, self.borderline))
        return [why or next(done) for why in refusals]


def _sentences(task: Task) -> list[Unit]:
    return [
        Unit(passage.number, (position,))
        for passage in task.passages
        for position in range(len(passage.sentences))
    ]
