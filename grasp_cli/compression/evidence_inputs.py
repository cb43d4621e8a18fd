"""Questions and passages as inputs of the evidence network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from grasp_cli.compression.tasks import Passage
from grasp_cli.compression.token_relevance import token_bounds
from grasp_cli.models.encoder import even_windows
from grasp_cli.models.evidence_network import EvidenceNetwork, Window, windows
from grasp_cli.text.tokens import load_tokenizer


class Reader:
    """Tokenises questions and passages for one network.

    A question takes at most half of the positions, a title an eighth. A longer question is read
    in several parts; `cut` tells what a longer title loses.
    """

    def __init__(self, network: EvidenceNetwork) -> None:
        self._network = network
        self._questions: dict[str, list[list[int]]] = {}

    @cached_property
    def tokenizer(self) -> Any:
        """The encoder's tokenizer."""
        return load_tokenizer(self._network.base)

    @cached_property
    def special(self) -> tuple[int, int]:
        """The ids of [CLS] and [SEP]."""
        first, last = self.tokenizer.encode("").ids
        return first, last

    def questions(self, question: str) -> list[list[int]]:
        """The parts of a question that are asked one by one; nearly always one."""
        if question not in self._questions:
            ids = self._ids(question)
            most = self._network.positions // 2 - 2
            parts = [ids[start:end] for start, end in even_windows(len(ids), most)]
            self._questions = {question: parts}
        return self._questions[question]

    def title(self, title: str) -> tuple[list[int], int]:
        """Token ids of a title as it stands before its passage, and how many it lost."""
        if not title:
            return [], 0
        ids = self._ids(f"{title}:")
        most = self._network.positions // 8
        return ids[:most], max(0, len(ids) - most)

    def windows(self, question: str, passage: Passage) -> Iterator[tuple[int, Window]]:
        """The inputs of a passage, each with the number of the part of the question it asks."""
        found = self.tokenizer.encode(passage.text, add_special_tokens=False)
        bounds = token_bounds([start for start, _ in found.offsets], passage)
        title, _ = self.title(passage.title)
        for number, part in enumerate(self.questions(question)):
            for window in windows(
                part,
                title,
                found.ids,
                bounds,
                special=self.special,
                positions=self._network.positions,
            ):
                yield number, window

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids
