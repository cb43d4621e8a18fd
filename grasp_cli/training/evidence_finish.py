"""From trained weights to a model that compress can use: compressed, calibrated, described."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grasp_cli.compression.evidence_calibration import (
    FEATURES,
    balanced_point,
    expected_calibration_error,
    fit,
    logistic,
    point_that_drops,
    point_that_keeps,
    slope_through,
)
from grasp_cli.compression.evidence_graph import components
from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.compression.tasks import Passage, Task, Unit
from grasp_cli.defaults import COMPRESS, TrainEvidenceDefaults
from grasp_cli.models.encoder import Encoder
from grasp_cli.models.evidence_network import EvidenceNetwork
from grasp_cli.models.evidence_weights import (
    WEIGHTS,
    EvidenceConfig,
    compressed,
    save_weights,
    write_config,
)
from grasp_cli.models.locate import find, sha256_of
from grasp_cli.training.evidence_examples import GOLD, UNKNOWN, Example, shortened
from grasp_cli.training.metrics import Quality, quality
from grasp_cli.training.parameters import parameters

_PROJECTION_SENTENCES = 6000  # that the map to sentence embeddings is fitted on
_TOGETHER = 32  # examples that are read at once
# Passages drawn from other records are not what a retriever finds, and neither are the links
# between them: such records count less in the calibration, and not for the operating points where
# there are this many gold units in the others.
_DRAWN_WEIGHT, _ENOUGH = 0.3, 50
_RIDGE = 1e-3  # of that fit, relative to the mean variance of its input
_THRESHOLDS, _NEVER = (0.55, 0.65, 0.75, 0.85), 1.0  # of the graph; cosines stay below the last
_KEPT, _COST = 0.9, 0.01  # of gold, and what joining may cost of what is removed there
# Passages of the shortened records that the operating points of small records are chosen on.
_FEW = (1, 2, 3, 5)
RECALL_KEEPS, TIGHT_DROPS = 0.95, 0.95  # of gold, of the others: the outer presets
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


class Agreement(NamedTuple):
    """How far the graph is that of the base encoder's sentence embeddings, with as many edges."""

    pairs: float  # share of neighbouring sentences on which the two agree
    recall: float  # share of the published edges that are there
    precision: float  # share of the edges that are published ones


class Finished(NamedTuple):
    """What was measured on the held-back questions while finishing."""

    whole: Quality  # logits of the weights as trained
    stored: Quality  # of the stored, compressed ones
    calibrated: Quality  # with the record's features
    calibration_error: float
    edges: Agreement
    points: dict[str, tuple[float, float]]  # preset: share of gold kept, of the others dropped
    megabytes: float


def finish(
    network: EvidenceNetwork,
    base: str,
    training: Sequence[Example],
    held_back: Sequence[Example],
    directory: Path,
    settings: TrainEvidenceDefaults,
    say: Callable[[str], None],
) -> Finished:
    """Write the model's directory from a network that holds the best weights.

    Parameters
    ----------
    network
        With the trained weights, float32.
    base
        The base encoder as the model's config names it.
    training, held_back
        Examples, negatives included. The map to sentence embeddings is fitted on training
        sentences; calibration, presets and the graph's threshold on held-back ones.
    """
    path = find(base)
    fresh = dict(EvidenceNetwork(path).encoder.named_parameters())
    tuned = parameters(network)
    encoder = {n.removeprefix("encoder."): v for n, v in tuned.items() if n.startswith("encoder.")}
    head = {n.removeprefix("head."): v for n, v in tuned.items() if n.startswith("head.")}
    save_weights(directory, compressed(fresh, encoder, None), head, np.eye(network.width))
    config = EvidenceConfig(
        base=base,
        base_sha256=sha256_of([path / "model.safetensors"]),
        weights_sha256=sha256_of([directory / WEIGHTS]),
        features=[1.0] + [0.0] * (len(FEATURES) - 1),
    )
    write_config(config, directory)
    whole = measure(EvidenceHead(directory, dtype=settings.dtype), held_back)
    save_weights(
        directory, compressed(fresh, encoder, settings.rank or None), head, np.eye(network.width)
    )
    config = replace(config, weights_sha256=sha256_of([directory / WEIGHTS]))
    write_config(config, directory)
    model = EvidenceHead(directory, dtype=settings.dtype)
    stored = measure(model, held_back)
    say(f"held-back AUC {whole.auc} whole, {stored.auc} stored")
    projection = _projection(model, Encoder(path), training, settings.seed)
    save_weights(directory, compressed(fresh, encoder, settings.rank or None), head, projection)
    config = replace(config, weights_sha256=sha256_of([directory / WEIGHTS]))
    write_config(config, directory)
    model = EvidenceHead(directory, dtype=settings.dtype)
    published, agreement = _graph(model, Encoder(path), held_back)
    config = replace(config, similarity_threshold=_joining(model, held_back, published))
    config, error, points = _calibrated(model, held_back, config)
    write_config(config, directory)
    calibrated = measure(EvidenceHead(directory, dtype=settings.dtype), held_back)
    say(f"held-back AUC {calibrated.auc} with the features of the record")
    size = (directory / WEIGHTS).stat().st_size / 1e6
    return Finished(whole, stored, calibrated, error, agreement, points, round(size, 1))


def measure(model: EvidenceHead, examples: Sequence[Example]) -> Quality:
    """Ranking quality of single sentences."""
    pairs = []
    for part in _parts(examples):
        tasks = [_task(made) for made in part]
        found = model.calibrated(tasks, [_sentences(made) for made in part])
        pairs += [(np.concatenate(m.labels), values) for m, values in zip(part, found, strict=True)]
    return quality(pairs)


def _parts(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
    """Examples that are read together."""
    for start in range(0, len(examples), _TOGETHER):
        yield examples[start : start + _TOGETHER]


def _task(made: Example) -> Task:
    return Task(made.question, made.passages)


def _all(passages: Sequence[Passage]) -> list[list[int]]:
    return [list(range(len(passage.sentences))) for passage in passages]


def _sentences(made: Example) -> list[Unit]:
    return [
        Unit(passage.number, (sentence,))
        for passage in made.passages
        for sentence in range(len(passage.sentences))
    ]


def _projection(
    model: EvidenceHead, encoder: Encoder, examples: Sequence[Example], seed: int
) -> npt.NDArray[np.float32]:
    """The map from input embeddings to sentence embeddings of the base, by ridge regression."""
    chosen = random.Random(seed).sample(list(examples), len(examples))
    states: list[Any] = []
    texts: list[str] = []
    for part in _parts(chosen):
        if len(texts) >= _PROJECTION_SENTENCES:
            break
        for made, reads in zip(part, model.reads([_task(m) for m in part]), strict=True):
            for passage, read in zip(made.passages, reads, strict=True):
                states += list(read.inputs)
                texts += [passage.sentence(s) for s in range(len(passage.sentences))]
    given = np.asarray(states, np.float64)
    wanted = encoder.embed(texts).astype(np.float64)
    square = given.T @ given
    ridge = _RIDGE * len(given) * np.trace(square) / len(given) / len(square)
    found = np.linalg.solve(square + ridge * np.eye(len(square)), given.T @ wanted)
    return found.astype(np.float32)


def _pairs(
    model: EvidenceHead, encoder: Encoder, examples: Sequence[Example]
) -> tuple[Floats, Floats]:
    """Cosines of neighbouring sentences by the model's vectors and by the base's embeddings."""
    own: list[float] = []
    published: list[float] = []
    for part in _parts(examples):
        found = model.vectors([_task(m) for m in part], [_all(m.passages) for m in part])
        texts = [p.sentence(s) for m in part for p in m.passages for s in range(len(p.sentences))]
        theirs = encoder.embed(texts)
        for mine in (vectors for vectors_of in found for vectors in vectors_of):
            own += _near(mine)
            published += _near(theirs[: len(mine)])
            theirs = theirs[len(mine) :]
    return np.asarray(own), np.asarray(published)


def _near(vectors: npt.NDArray[Any]) -> list[float]:
    """Cosines of the pairs of sentences that are near enough to be joined."""
    reach = COMPRESS.locality_window + 1
    return [
        _cosine(vectors[first], vectors[second])
        for first in range(len(vectors))
        for second in range(first + 1, min(len(vectors), first + reach))
    ]


def _cosine(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    return float(one @ other / max(1e-12, float(np.linalg.norm(one) * np.linalg.norm(other))))


def _graph(
    model: EvidenceHead, encoder: Encoder, examples: Sequence[Example]
) -> tuple[float, Agreement]:
    """The threshold with as many edges as the published graph, and the agreement of the two."""
    own, published = _pairs(model, encoder, examples)
    edges = published >= COMPRESS.similarity_threshold
    if not len(own):  # passages of one sentence
        return COMPRESS.similarity_threshold, Agreement(1.0, 1.0, 1.0)
    threshold = round(float(np.quantile(own, 1 - edges.mean())), 3)
    found = own >= threshold
    both = float((found & edges).sum())
    return threshold, Agreement(
        round(float((found == edges).mean()), 4),
        round(float(both / max(1, edges.sum())), 4),
        round(float(both / max(1, found.sum())), 4),
    )


def graph_units(model: EvidenceHead, tasks: Sequence[Task], threshold: float) -> list[list[Unit]]:
    """The evidence units of tasks, without a coarse filter."""
    every = [_all(task.passages) for task in tasks]
    return [
        [
            Unit(passage.number, members)
            for passage, own in zip(task.passages, vectors, strict=True)
            for members in components(
                list(range(len(passage.sentences))),
                own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12),
                threshold=threshold,
                window=COMPRESS.locality_window,
            )
        ]
        for task, vectors in zip(tasks, model.vectors(tasks, every), strict=True)
    ]


def _featured(
    model: EvidenceHead, examples: Sequence[Example], threshold: float
) -> Iterator[tuple[Example, list[Unit], Floats]]:
    """Each example with the units of its graph and their features."""
    for part in _parts(examples):
        tasks = [_task(made) for made in part]
        units = graph_units(model, tasks, threshold)
        yield from zip(part, units, model.features(tasks, units), strict=True)


def _judged(
    featured: Iterable[tuple[Example, list[Unit], Floats]],
) -> tuple[Floats, Booleans, Booleans]:
    """Features of all units whose label is known, whether they are gold, and drawn from others."""
    rows: list[Floats] = []
    gold: list[bool] = []
    drawn: list[bool] = []
    for made, units, found in featured:
        labels = [_label(made, unit) for unit in units]
        known = [i for i, label in enumerate(labels) if label is not None]
        rows.append(found[known])
        gold += [bool(labels[i]) for i in known]
        drawn += [made.drawn > 0] * len(known)
    return np.concatenate(rows), np.asarray(gold, bool), np.asarray(drawn, bool)


def _joining(model: EvidenceHead, examples: Sequence[Example], published: float) -> float:
    """The least threshold of the graph at which joining sentences costs next to nothing.

    Joined sentences are kept or dropped together, and a classifier that was taught on sentences
    tells them apart: what is removed where `_KEPT` of gold is kept is compared with no joining.
    """
    natural = [made for made in examples if not made.drawn] or list(examples)
    alone = _removed(model, natural, _NEVER)
    for threshold in (published, *(t for t in _THRESHOLDS if t > published)):
        if _removed(model, natural, threshold) >= alone - _COST:
            return threshold
    return _NEVER


def _removed(model: EvidenceHead, examples: Sequence[Example], threshold: float) -> float:
    """The share of characters that goes where `_KEPT` of the gold sentences stay."""
    featured = list(_featured(model, examples, threshold))
    rows, gold, _ = _judged(featured)
    slopes, bias = fit(rows, gold.astype(np.float64), np.ones(len(gold)))
    scores: list[float] = []
    sizes: list[int] = []
    truth: list[bool] = []
    for made, units, found in featured:
        for unit, score in zip(units, (found @ slopes + bias).tolist(), strict=True):
            passage = made.passages[unit.passage]
            scores += [score] * len(unit.sentences)
            sizes += [len(passage.sentence(sentence)) for sentence in unit.sentences]
            truth += [made.labels[unit.passage][s] == GOLD for s in unit.sentences]
    values, lengths = np.asarray(scores), np.asarray(sizes)
    cut = point_that_keeps(values, np.asarray(truth, bool), _KEPT)
    return 1 - float(lengths[values >= cut].sum() / max(1, lengths.sum()))


def _calibrated(
    model: EvidenceHead, examples: Sequence[Example], config: EvidenceConfig
) -> tuple[EvidenceConfig, float, dict[str, tuple[float, float]]]:
    """Fit the calibration and choose the operating points, both on units of the graph."""
    threshold = config.similarity_threshold
    features, truth, other = _judged(_featured(model, examples, threshold))
    slopes, bias = fit(features, truth.astype(np.float64), np.where(other, _DRAWN_WEIGHT, 1.0))
    logits = features @ slopes + bias
    if truth[~other].sum() >= _ENOUGH:  # points are chosen on what a retriever finds
        logits, truth = logits[~other], truth[~other]
        examples = [made for made in examples if not made.drawn]
    middle = balanced_point(logits, truth)
    size = _log_sentences(examples)
    kept = float((logits[truth] >= middle).mean())
    points_of_few = _points_of_few(model, examples, threshold, (slopes, bias), kept)
    slope = slope_through((size, middle), points_of_few)
    cuts = {
        "recall": min(middle, point_that_keeps(logits, truth, RECALL_KEEPS)),
        "balanced": middle,
        "tight": max(middle, point_that_drops(logits, truth, TIGHT_DROPS)),
    }
    points = {
        name: (
            round(float((logits[truth] >= cut).mean()), 4),
            round(float((logits[~truth] < cut).mean()), 4),
        )
        for name, cut in cuts.items()
    }
    settled = replace(
        config,
        features=[round(float(value), 5) for value in slopes],
        bias=round(bias, 5),
        midpoint=round(middle - slope * size, 5),
        midpoint_slope=round(slope, 5),
        presets={
            name: round(float(logistic(np.asarray(cut - middle))), 4) for name, cut in cuts.items()
        },
    )
    return settled, round(expected_calibration_error(logistic(logits), truth), 4), points


def _points_of_few(
    model: EvidenceHead,
    examples: Sequence[Example],
    threshold: float,
    calibration: tuple[Floats, float],
    share: float,
) -> list[tuple[float, float]]:
    """Where records of few passages keep as large a share of gold: log sentences, and the logit.

    The rank of a sentence in its record says less the fewer there are, so that with one point for
    all sizes a record of three passages would stay nearly whole.
    """
    slopes, bias = calibration
    found = []
    for count in _FEW:
        rng = random.Random(count)
        few = [short for made in examples if (short := shortened(made, count, rng)) is not None]
        if not few:
            continue
        rows, gold, _ = _judged(_featured(model, few, threshold))
        if gold.sum() >= min(_ENOUGH, len(examples)):
            cut = point_that_keeps(rows @ slopes + bias, gold, share)
            found.append((_log_sentences(few), cut))
    return found


def _log_sentences(examples: Sequence[Example]) -> float:
    """The mean over records of the natural log of their sentences."""
    return float(np.mean([np.log(max(1, sum(map(len, made.labels)))) for made in examples]))


def _label(made: Example, unit: Unit) -> bool | None:
    labels = [made.labels[unit.passage][sentence] for sentence in unit.sentences]
    if GOLD in labels:
        return True
    return None if UNKNOWN in labels else False
