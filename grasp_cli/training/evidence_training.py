"""Training of the evidence classifier: encoder and head together.

Per step, whole questions with all of their passages: the loss is a weighted cross-entropy over
sentences, and over each question's sentences a softmax that puts every gold sentence before those
that are not (listwise, as in ListNet). Units of several sentences are drawn at random and scored
by the same head, so that it knows their means too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from grasp_cli.compression.evidence_inputs import Reader
from grasp_cli.defaults import TrainEvidenceDefaults
from grasp_cli.models.evidence_network import EvidenceNetwork, Window
from grasp_cli.training.evidence_examples import GOLD, UNKNOWN, Example, by_source
from grasp_cli.training.loop import Loop
from grasp_cli.training.metrics import Quality, quality

UNIT_SPAN = 3  # sentences that a random unit is drawn from
_TOGETHER = 8  # examples that are measured at once


class Trainer(Loop):
    """Trains a network on examples; every random choice follows from the seed and the step."""

    network: EvidenceNetwork
    settings: TrainEvidenceDefaults
    averaged = True

    def _prepare(self) -> None:
        self.reader = Reader(self.network)
        self._windows: dict[tuple[str, str, str], list[Window]] = {}

    # -- the plan ---------------------------------------------------------------------------

    def _planned(self) -> list[list[Example]]:
        """The examples of every step of all epochs."""
        steps: list[list[Example]] = []
        for epoch in range(self.settings.epochs):
            rng = random.Random(f"{self.settings.seed} {epoch}")
            steps += self._steps(self._drawn(rng), rng)
        return steps

    def _drawn(self, rng: random.Random) -> list[Example]:
        """The examples of an epoch: at most so many of each file, and their negatives."""
        chosen = []
        for members in by_source(self.training).values():
            most = min(len(members), self.settings.records_per_epoch or len(members))
            chosen += rng.sample(members, most)
        return [self.with_negatives(made, rng) for made in chosen]

    def _steps(self, drawn: list[Example], rng: random.Random) -> list[list[Example]]:
        rng.shuffle(drawn)
        steps: list[list[Example]] = []
        room = 0
        for made in drawn:
            size = self._tokens(made)
            if size > room and room < self.settings.batch_tokens:
                steps.append([])
                room = self.settings.batch_tokens
            if not steps or room <= 0:
                steps.append([])
                room = self.settings.batch_tokens
            steps[-1].append(made)
            room -= size
        return [step for step in steps if step]

    def _tokens(self, made: Example) -> int:
        return sum(
            len(window.ids)
            for passage in made.passages
            for window in self._inputs(made.question, passage)
        )

    def _inputs(self, question: str, passage: Any) -> list[Window]:
        key = (question, passage.title, passage.text)
        if key not in self._windows:
            self._windows[key] = [window for _, window in self.reader.windows(question, passage)]
        return self._windows[key]

    def _validated(self) -> tuple[float, dict[str, Any]]:
        found = {source: self.measure(made) for source, made in by_source(self.held_back).items()}
        judged = [value.auc for value in found.values() if value.questions]
        reached = float(np.mean(judged)) if judged else 0.0
        by_file = {source: value._asdict() for source, value in found.items()}
        return reached, {"auc": round(reached, 4), "held_back": by_file}

    def measure(self, examples: Sequence[Example]) -> Quality:
        """Ranking quality over examples, each with its negatives (always the same ones)."""
        torch = self._torch
        self.network.encoder.eval()
        pairs = []
        with torch.inference_mode(), self._autocast():
            for start in range(0, len(examples), _TOGETHER):
                part = examples[start : start + _TOGETHER]
                full = [self.with_negatives(made, random.Random(0)) for made in part]
                for made, logits in zip(full, self._logits(full), strict=True):
                    pairs.append((np.concatenate(made.labels), logits.float().cpu().numpy()))
        return quality(pairs)

    def _logits(self, batch: list[Example]) -> list[Any]:
        """Logits of every sentence of each example."""
        means, firsts, _ = self._states(batch)
        return [self.network.logits(m, f) for m, f in zip(means, firsts, strict=True)]

    def _states(self, batch: list[Example]) -> tuple[list[Any], list[Any], list[Any]]:
        """Per example the states of its sentences, their passages' states, and token counts."""
        torch = self._torch
        places = [
            (number, passage.number, window)
            for number, made in enumerate(batch)
            for passage in made.passages
            for window in self._inputs(made.question, passage)
        ]
        starts = [np.cumsum([0, *map(len, made.labels)]) for made in batch]
        owners: list[int] = []  # of each span: its example, its sentence there, its tokens
        sentences: list[int] = []
        sizes: list[int] = []
        parts, firsts = [], []
        for members in _similar([len(window.ids) for _, _, window in places]):
            means, first, _ = self.network.states([places[m][2] for m in members])
            parts.append(means)
            order = []
            for row, m in enumerate(members):
                number, passage, window = places[m]
                for sentence, start, end in window.spans:
                    owners.append(number)
                    sentences.append(int(starts[number][passage]) + sentence)
                    sizes.append(end - start)
                    order.append(row)
            firsts.append(first[order])
        vectors, first = torch.cat(parts), torch.cat(firsts)
        device = vectors.device
        offsets = np.cumsum([0, *(int(start[-1]) for start in starts)])
        rows = offsets[np.asarray(owners)] + np.asarray(sentences)
        target = torch.from_numpy(rows).to(device)
        weight = torch.tensor(sizes, dtype=torch.float32, device=device).clamp(min=1)

        def gathered(values: Any) -> Any:
            shape = (int(offsets[-1]), *values.shape[1:])
            return torch.zeros(shape, device=device).index_add(0, target, values)

        count = gathered(weight).clamp(min=1)
        mean = gathered(vectors * weight[:, None]) / count[:, None]
        head = gathered(first * weight[:, None]) / count[:, None]
        spans = list(pairwise(offsets.tolist()))
        return (
            [mean[a:b] for a, b in spans],
            [head[a:b] for a, b in spans],
            [count[a:b] for a, b in spans],
        )

    def _loss(self, batch: list[Example], rng: random.Random) -> Any:
        torch, settings = self._torch, self.settings
        means, firsts, sizes = self._states(batch)
        device = self.network.device
        weight = torch.tensor(settings.positive_weight, device=device)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        single, listed, units = [], [], []
        for made, mean, first, size in zip(batch, means, firsts, sizes, strict=True):
            labels = torch.from_numpy(np.concatenate(made.labels).astype(np.int64)).to(device)
            logits = self.network.logits(mean, first).float()
            gold, other = logits[labels == GOLD], logits[labels == 0]
            for place, sentences in made.some:
                start = sum(map(len, made.labels[:place]))
                gold = torch.cat([gold, logits[[start + s for s in sentences]].max()[None]])
            given = torch.cat([gold, other])
            wanted = torch.cat([torch.ones_like(gold), torch.zeros_like(other)])
            single.append(entropy(given, wanted, pos_weight=weight, reduction="none"))
            if len(gold) and len(other):
                others = torch.logsumexp(other, 0)
                listed.append((torch.logaddexp(gold, others) - gold).mean())
            drawn, judged = _random_units(made, rng)
            if drawn:
                matrix = torch.zeros(len(drawn), len(mean), device=device)
                for row, members in enumerate(drawn):
                    matrix[row, members] = size[members]
                matrix = matrix / matrix.sum(1, keepdim=True)
                found = self.network.logits(matrix @ mean.float(), matrix @ first.float()).float()
                wanted = torch.tensor(judged, device=device)
                units.append(entropy(found, wanted, pos_weight=weight, reduction="none"))
        loss = torch.cat(single).mean()
        if listed:
            loss = loss + settings.rank_weight * torch.stack(listed).mean()
        if units:
            loss = loss + settings.unit_weight * torch.cat(units).mean()
        return loss


def _random_units(made: Example, rng: random.Random) -> tuple[list[list[int]], list[float]]:
    """For each passage of two sentences or more a unit of neighbours, adjacent or not."""
    drawn, judged = [], []
    start = 0
    for labels in made.labels:
        count = len(labels)
        if count >= 2:
            first = rng.randrange(count - 1)
            near = list(range(first + 1, min(count, first + UNIT_SPAN)))
            members = [first, *sorted(rng.sample(near, rng.randint(1, len(near))))]
            if not any(labels[m] == UNKNOWN for m in members):
                drawn.append([start + m for m in members])
                judged.append(float(any(labels[m] == GOLD for m in members)))
        start += count
    return drawn, judged


def _similar(sizes: Sequence[int], most: int = 6144) -> Iterator[list[int]]:
    """Numbers of windows that share a forward pass: of like length, so that little is padding."""
    order = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    batch: list[int] = []
    for number in order:
        if batch and (
            sizes[number] < 0.75 * sizes[batch[0]] or (len(batch) + 1) * sizes[batch[0]] > most
        ):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
