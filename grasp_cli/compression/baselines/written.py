"""What methods that write a text of their own have in common."""

from __future__ import annotations

from grasp_cli.compression.baselines.passages import whole_passages
from grasp_cli.compression.tasks import Selection, Task
from grasp_cli.pipe.errors import RecordError


def written(task: Task, text: str, context_cut: int) -> Selection:
    """A text in place of the contexts; the first passage stands in where it is empty."""
    passages = whole_passages(task, range(len(task.passages)))
    return Selection(passages, [], text=text.strip(), context_cut=context_cut)


def too_long(model: str, most: int) -> RecordError:
    """The error of a question that leaves no room for any document."""
    return RecordError(
        f"the question and the instruction are more than the {most} tokens that {model} reads; "
        "shorten it",
        kind="QuestionTooLong",
    )
