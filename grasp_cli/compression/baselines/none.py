"""No compression: what the others are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grasp_cli.compression.baselines.lead import first_sentences
from grasp_cli.compression.tasks import Selection, Task


class Everything:
    """Keeps all."""

    name = "none"

    def load(self) -> None:
        """Nothing to load."""

    def select(self, tasks: Sequence[Task]) -> Iterable[Selection]:
        """Every sentence of every passage."""
        return [first_sentences(task, None) for task in tasks]
