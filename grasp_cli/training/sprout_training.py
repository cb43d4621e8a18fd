"""Training of trees: the weights of attention heads, and the encoder (SproutRAG's joint objective).

InfoNCE between a question and passages, each the mean of its chunks' vectors, one with evidence
against all without; and the mean of -log M over pairs of chunks that support the answer together.
All passages of a question are read as one document of one window, in random order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from grasp_cli.defaults import TREE, TrainSproutDefaults
from grasp_cli.models.sprout_network import Chunks, SproutNetwork
from grasp_cli.training.evidence_examples import Example
from grasp_cli.training.loop import Loop
from grasp_cli.training.metrics import auc
from grasp_cli.training.parameters import trained
from grasp_cli.training.sprout_documents import Document, Documents

_TOGETHER = 4  # documents of one forward pass: attention of all layers and heads is kept
_LEAST = 1e-9  # of M under the logarithm


class Held(NamedTuple):
    """Means over the held-back questions; None where there is nothing to take the mean of."""

    contrast: float | None  # InfoNCE
    support: float | None  # -log M of pairs that support the answer together
    pairs: float | None  # AUC of M: such pairs before all other pairs of the document


class SproutTrainer(Loop):
    """Trains alpha and, unless `only_heads`, the encoder."""

    network: SproutNetwork
    settings: TrainSproutDefaults
    told = 1

    def _prepare(self) -> None:
        network = self.network
        self.documents = Documents(network.tokenizer, network.room, TREE.chunk_sentences)
        self._sizes: dict[tuple[str, str], int] = {}
        self._made: dict[tuple[str, str], Document] = {}  # with a frozen encoder
        self._read: dict[tuple[str, str], Chunks] = {}  # likewise

    def _trains(self, name: str) -> bool:
        return trained(name) and not self.settings.only_heads

    def _planned(self) -> list[list[Example]]:
        steps, size = [], self.settings.batch
        used = self._used([self.with_negatives(made, self._own(made)) for made in self.training])
        for epoch in range(self.settings.epochs):
            drawn = list(used)
            random.Random(f"{self.settings.seed} {epoch}").shuffle(drawn)
            steps += [drawn[start : start + size] for start in range(0, len(drawn), size)]
        return steps

    def _used(self, examples: list[Example]) -> list[Example]:
        """With a frozen encoder only pairs of chunks teach anything."""
        if not self.settings.only_heads:
            return examples
        return [made for made in examples if self._document(made, self._own(made)).pairs]

    def _own(self, made: Example) -> random.Random:
        """Random choices that follow from the example alone."""
        return random.Random(f"{self.settings.seed} {made.key}")

    def _document(self, made: Example, rng: random.Random) -> Document:
        """In an order that the step decides, or with a frozen encoder always the same."""
        if not self.settings.only_heads:
            return self.documents.make(made, rng)
        if made.key not in self._made:
            self._made[made.key] = self.documents.make(made, self._own(made))
        return self._made[made.key]

    def _tokens(self, made: Example) -> int:
        if made.key not in self._sizes:
            document = self.documents.make(made, self._own(made))
            self._sizes[made.key] = len(document.tokens) + len(document.question)
        return self._sizes[made.key]

    def _parts(self, batch: list[Example]) -> Iterator[list[Example]]:
        for start in range(0, len(batch), _TOGETHER):
            yield batch[start : start + _TOGETHER]

    def _loss(self, batch: list[Example], rng: random.Random) -> Any:
        torch, settings = self._torch, self.settings
        frozen = settings.only_heads
        made = [self._document(one, rng) for one in batch]
        read = self._kept(batch, made) if frozen else self._chunks(made)
        total = torch.zeros((), device=self.network.device)
        for document, chunks in zip(made, read, strict=True):
            support = self._support(document, chunks)
            if support is not None:
                total = total + settings.support_weight * support
        if not frozen:
            for contrast in self._contrasts(made, read):
                if contrast is not None:
                    total = total + contrast
        # A part of which nothing is to be learned still has a gradient, of zero.
        return total / len(batch) + 0 * self.network.head["alpha"].sum()

    def _chunks(self, documents: Sequence[Document]) -> list[Chunks]:
        return self.network.chunks([(made.tokens, made.bounds) for made in documents])

    def _kept(self, batch: Sequence[Example], documents: Sequence[Document]) -> list[Chunks]:
        """Each document is read once: its encoder and its order do not change."""
        new = [n for n, made in enumerate(batch) if made.key not in self._read]
        if new:
            self.network.encoder.eval()  # without dropout
            with self._torch.no_grad():
                found = self._chunks([documents[n] for n in new])
            for number, chunks in zip(new, found, strict=True):
                self._read[batch[number].key] = chunks
        return [self._read[made.key] for made in batch]

    def _support(self, document: Document, chunks: Chunks) -> Any:
        """The mean of -log M over pairs of chunks that support the answer together."""
        if not (pairs := document.pairs):
            return None
        relation = self.network.relation(chunks.attention)
        first, second = (list(side) for side in zip(*pairs, strict=True))
        return -relation[first, second].clamp_min(_LEAST).log().mean()

    def _contrasts(self, documents: Sequence[Document], read: Sequence[Chunks]) -> list[Any]:
        """InfoNCE of each document; None without a passage of each kind."""
        questions = self.network.questions([made.question for made in documents])
        return [
            self._contrast(document, chunks, question)
            for document, chunks, question in zip(documents, read, questions, strict=True)
        ]

    def _contrast(self, document: Document, chunks: Chunks, question: Any) -> Any:
        torch = self._torch
        if all(document.positive) or not any(document.positive):
            return None
        passages = torch.stack([chunks.vectors[a:b].mean(0) for a, b in document.passages])
        cosines = torch.nn.functional.cosine_similarity(
            passages.float(), question.float()[None], dim=-1
        )
        logits = cosines / self.settings.temperature
        wanted = torch.tensor(document.positive, device=logits.device)
        others = torch.logsumexp(logits[~wanted], 0)
        positive = logits[wanted]
        return (torch.logaddexp(positive, others) - positive).mean()

    # -- evaluation -------------------------------------------------------------------------

    def _validated(self) -> tuple[float, dict[str, Any]]:
        held = self.measure(self.held_back)
        loss = (held.contrast or 0.0) + self.settings.support_weight * (held.support or 0.0)
        found = {name: value and round(value, 4) for name, value in held._asdict().items()}
        return float(np.exp(-loss)), {"held_back_loss": round(loss, 4), **found}

    def measure(self, examples: Sequence[Example]) -> Held:
        """Means over examples, each read in an order of its own that does not change."""
        contrasts, supports, areas = [], [], []
        self.network.encoder.eval()
        with self._torch.inference_mode(), self._autocast():
            for start in range(0, len(examples), _TOGETHER):
                part = [
                    self.with_negatives(made, self._own(made))
                    for made in examples[start : start + _TOGETHER]
                ]
                made = [self._document(one, self._own(one)) for one in part]
                read = self._chunks(made)
                contrasts += [value for value in self._contrasts(made, read) if value is not None]
                for document, chunks in zip(made, read, strict=True):
                    support = self._support(document, chunks)
                    if support is not None:
                        supports.append(support)
                        areas += _areas(document, self.network.relation(chunks.attention))
        return Held(*(_mean(values) for values in (contrasts, supports, areas)))


def _areas(document: Document, relation: Any) -> list[float]:
    """The AUC of a document's pairs, if it has others beside those that belong together."""
    count = len(document.bounds) - 1
    wanted = set(document.pairs)
    gold = np.asarray([pair in wanted for pair in combinations(range(count), 2)], bool)
    values = relation.float().cpu().numpy()[np.triu_indices(count, 1)]
    return [auc(gold, values)] if 0 < gold.sum() < len(gold) else []


def _mean(values: Sequence[Any]) -> float | None:
    return float(np.mean([float(value) for value in values])) if values else None
