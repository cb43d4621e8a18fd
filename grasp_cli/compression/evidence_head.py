"""The trained evidence classifier: each passage is read once, with its question, for all units.

From that one pass come the unit scores, the sentences' coarse scores, and the sentence vectors that
the evidence graph is drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.evidence_calibration import FEATURES, logistic, record_features
from grasp_cli.compression.evidence_inputs import Reader
from grasp_cli.compression.tasks import Passage, Task, Unit
from grasp_cli.compression.title_links import links
from grasp_cli.defaults import SCORE_DECIMALS
from grasp_cli.models.batches import batches
from grasp_cli.models.evidence_network import EvidenceNetwork, States, Window
from grasp_cli.models.evidence_weights import (
    BASE_WEIGHTS,
    WEIGHTS,
    EvidenceConfig,
    merge,
    read_config,
)
from grasp_cli.models.locate import find, sha256_of
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError, ProcessingError, RecordError

Floats = npt.NDArray[np.float64]
Key = tuple[str, str, str]  # question, title, text
_BATCH_TOKENS = 4096


class Read(NamedTuple):
    """What one pass over a passage leaves, for each part of the question.

    means
        States of the sentences, shape (parts, sentences, width).
    firsts
        States of the passage as each sentence's window saw it, shape (parts, sentences, width).
    inputs
        What the sentences are before the first layer, shape (sentences, width).
    sizes
        Tokens of each sentence in all windows, at least 1, shape (parts, sentences).
    """

    means: npt.NDArray[np.float32]
    firsts: npt.NDArray[np.float32]
    inputs: npt.NDArray[np.float32]
    sizes: Floats


class EvidenceHead:
    """Scores units, sentences and their likeness by the trained model in a directory.

    `cut_tokens` tells what titles longer than an eighth of an input lost. Raises `MissingError`
    where the base encoder is not here, or weights are not those that the config states.
    """

    name = "evidence"

    def __init__(
        self,
        directory: Path,
        *,
        dtype: str = "float32",
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.directory = directory
        self.config: EvidenceConfig = read_config(directory)
        if len(self.config.features) != len(FEATURES):
            raise MissingError(
                f"{directory}: calibrated on {len(self.config.features)} features, and this "
                f"version of grasp has {len(FEATURES)}: install the version that wrote it, or "
                "train it again"
            )
        self.base = find(self.config.base)
        self.dtype = dtype
        self.device = device
        self.cut_tokens: list[int] = []
        self._threads = threads
        self._known: dict[Key, Read] = {}

    def load(self) -> None:
        """Load the base encoder and add what was trained."""
        _ = self._loaded

    def refusal(self, task: Task) -> RecordError | None:
        """None: it reads questions of any length, in parts."""
        return None

    @property
    def network(self) -> EvidenceNetwork:
        """Encoder and head."""
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[EvidenceNetwork, npt.NDArray[np.float32]]:
        _check(self.base / BASE_WEIGHTS, self.config.base_sha256, "not the encoder it was made of")
        _check(self.directory / WEIGHTS, self.config.weights_sha256, "damaged weights")
        network = EvidenceNetwork(self.base, device=self.device, threads=self._threads)
        projection = merge(network, self.directory)
        network.to(self.dtype)
        return network, projection

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.network)

    @cached_property
    def _head(self) -> list[Floats]:
        return [p.detach().double().cpu().numpy() for p in self.network.head.parameters()]

    # -- scores -----------------------------------------------------------------------------

    def score(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """See `SpanClassifier.score`."""
        return [
            np.round(logistic(values - self._midpoint(task)), SCORE_DECIMALS)
            for task, values in zip(tasks, self.calibrated(tasks, units), strict=True)
        ]

    def _midpoint(self, task: Task) -> float:
        """The calibrated logit that becomes 0.5 in a record of as many sentences."""
        sentences = sum(len(passage.sentences) for passage in task.passages)
        return self.config.midpoint + self.config.midpoint_slope * float(np.log(max(1, sentences)))

    def scores(self, tasks: Sequence[Task]) -> list[list[Floats]]:
        """Rounded scores of every sentence: per task, per passage, shape (sentences,)."""
        every = [
            [Unit(p.number, (s,)) for p in task.passages for s in range(len(p.sentences))]
            for task in tasks
        ]
        results = []
        for task, values in zip(tasks, self.score(tasks, every), strict=True):
            ends = np.cumsum([len(passage.sentences) for passage in task.passages])
            results.append(np.split(values, ends[:-1]) if len(ends) else [])
        return results

    def calibrated(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """Logits of the calibrated, unshifted probabilities of each task's units."""
        return [
            found @ np.asarray(self.config.features) + self.config.bias
            for found in self.features(tasks, units)
        ]

    def features(self, tasks: Sequence[Task], units: Sequence[Sequence[Unit]]) -> list[Floats]:
        """What the calibration reads: see `record_features`."""
        reads = self._read(tasks)
        return [
            self._features(task, members, own)
            for task, members, own in zip(tasks, units, reads, strict=True)
        ]

    def _features(self, task: Task, units: Sequence[Unit], reads: list[Read]) -> Floats:
        sentences = [self._logits(read.means, read.firsts).max(axis=0) for read in reads]
        logits = np.asarray([self._unit(reads[unit.passage], unit, sentences) for unit in units])
        return record_features(units, logits, sentences, links(task.passages))

    def _unit(self, read: Read, unit: Unit, sentences: Sequence[Floats]) -> float:
        members = list(unit.sentences)
        if len(members) == 1:
            return float(sentences[unit.passage][members[0]])
        sizes = read.sizes[:, members]
        shares = (sizes / sizes.sum(axis=1, keepdims=True)).astype(np.float32)
        mean, first = (
            np.einsum("ps,psw->pw", shares, part[:, members])[:, None]
            for part in (read.means, read.firsts)
        )
        return float(self._logits(mean, first).max())

    def _logits(self, means: npt.NDArray[np.float32], firsts: npt.NDArray[np.float32]) -> Floats:
        """Logits, shape (parts, n), in float64: equal whatever is scored beside them."""
        weight, bias, last, end = self._head
        hidden = np.concatenate([means, firsts], axis=-1).astype(np.float64) @ weight.T + bias
        return np.asarray((_gelu(hidden) @ last.T + end)[..., 0])

    def reads(self, tasks: Sequence[Task]) -> list[list[Read]]:
        """What the pass over each passage of each task leaves."""
        return self._read(tasks)

    # -- the graph --------------------------------------------------------------------------

    def vectors(
        self, tasks: Sequence[Task], survivors: Sequence[list[list[int]]]
    ) -> list[list[npt.NDArray[np.float32]]]:
        """Vectors of the sentences left, for the evidence graph: see `grasp.SentenceVectors`.

        They are a linear map of the sentences' input embeddings, fitted to the base encoder's
        sentence embeddings: states of higher layers say how a sentence serves the question, and no
        longer what it is about.
        """
        projection = self._loaded[1]
        return [
            [read.inputs[positions] @ projection for read, positions in zip(own, left, strict=True)]
            for own, left in zip(self._read(tasks), survivors, strict=True)
        ]

    # -- reading ----------------------------------------------------------------------------

    def _read(self, tasks: Sequence[Task]) -> list[list[Read]]:
        """What the passages of each task leave; those of the last call are remembered."""
        keys = [
            [(task.question, passage.title, passage.text) for passage in task.passages]
            for task in tasks
        ]
        wanted = {
            key: (task.question, passage)
            for task, own in zip(tasks, keys, strict=True)
            for key, passage in zip(own, task.passages, strict=True)
        }
        new = {key: asked for key, asked in wanted.items() if key not in self._known}
        if new:
            kept = {key: self._known[key] for key in wanted if key in self._known}
            read = self._passes(list(new.values()))
            self._known = {**kept, **dict(zip(new, read, strict=True))}
        self.cut_tokens = [
            sum(self._reader.title(passage.title)[1] for passage in task.passages) for task in tasks
        ]
        return [[self._known[key] for key in own] for own in keys]

    def forget(self) -> None:
        """Read again what is asked next."""
        self._known = {}

    def _passes(self, asked: list[tuple[str, Passage]]) -> list[Read]:
        inputs: list[tuple[int, int, Window]] = []  # owner, part of the question, window
        results = []
        width = self.network.width
        for owner, (question, passage) in enumerate(asked):
            count = len(self._reader.questions(question))
            for part, window in self._reader.windows(question, passage):
                inputs.append((owner, part, window))
            shape = (count, len(passage.sentences), width)
            results.append(
                Read(
                    np.zeros(shape, np.float32),
                    np.zeros(shape, np.float32),
                    np.zeros(shape[1:], np.float32),
                    np.zeros(shape[:2]),
                )
            )
        torch = torch_runtime(self._threads)
        for _, members in batches([len(window.ids) for *_, window in inputs], _BATCH_TOKENS):
            batch = [inputs[member] for member in members]
            with torch.inference_mode():
                states = self.network.states([window for *_, window in batch])
            if not all(bool(torch.isfinite(values).all()) for values in states):
                raise ProcessingError(
                    f"{self.directory.name}: values that are not finite ({self.dtype})"
                )
            _collect(batch, States(*(values.cpu().numpy() for values in states)), results)
        return [_averaged(read) for read in results]


def _collect(
    batch: Sequence[tuple[int, int, Window]], states: States, results: Sequence[Read]
) -> None:
    """Add the states of a batch's spans to their sentences, weighted by tokens."""
    row = 0
    for number, (owner, part, window) in enumerate(batch):
        read = results[owner]
        for sentence, start, end in window.spans:
            weight = max(1, end - start)
            read.means[part, sentence] += weight * states.means[row]
            read.firsts[part, sentence] += weight * states.firsts[number]
            read.inputs[sentence] += weight * states.inputs[row]
            read.sizes[part, sentence] += weight
            row += 1


def _averaged(read: Read) -> Read:
    sizes = np.maximum(read.sizes, 1)
    shares = (1 / sizes[..., None]).astype(np.float32)
    # inputs are summed over the parts of the question
    inputs = read.inputs * (1 / sizes.sum(axis=0)[:, None]).astype(np.float32)
    return Read(read.means * shares, read.firsts * shares, inputs, sizes)


def _gelu(values: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(0.5 * values * (1 + erf(values / np.sqrt(2))))


def _check(path: Path, expected: str, what: str) -> None:
    if not path.is_file():
        raise MissingError(f"{path}, of a trained evidence model, is not there: train it again")
    found = sha256_of([path])
    if found != expected:
        raise MissingError(
            f"{path}: {what} (SHA-256 {found[:12]}…, expected {expected[:12]}…): install the one "
            "that the evidence model was trained with, or train it again"
        )
