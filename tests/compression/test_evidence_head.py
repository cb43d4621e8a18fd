"""The evidence classifier against a plain version: one window at a time, nothing remembered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.evidence_calibration import record_features
from grasp_cli.compression.evidence_head import EvidenceHead
from grasp_cli.compression.methods import Encoders, Models, build
from grasp_cli.compression.tasks import Passage, Selection, Task, Unit
from grasp_cli.compression.title_links import links
from grasp_cli.defaults import COMPRESS
from grasp_cli.models.evidence_network import EvidenceNetwork, windows
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.text import segment
from tests.training.synthetic import POSITIONS, Trained

LONG = " ".join(f"Ship {i} had salt from Orl{'.!'[i % 2]} It sank." for i in range(9))


def task(question: str, *texts: str, titles: Sequence[str] = ("", "Orl", "Tove dam")) -> Task:
    return Task(
        question,
        [Passage(n, titles[n % len(titles)], text, segment(text)) for n, text in enumerate(texts)],
    )


TASKS = [
    task("Is it BBBB?", "It is BBBB there. It is kkkk there. It is llll there.", "No one knows."),
    task("Why?", LONG, "Short. Shorter. Orl is here."),  # several windows
    task("Is it CCCC, or was it " + "DDDD and " * 9 + "FFFF?", "It is CCCC. Not DDDD.", LONG),
    task("Empty ones?", "", " \n ", "水库建于1958年。It is 🍜 CCCC."),
    task("", "It is GGGG there."),
    task("No passage?"),
    task("One sentence?", "x" * 150 + ". Then a short one. And BBBB."),  # longer than a window
    task("Is it kkkk?", "It is kkkk there. It is BBBB there. It is llll there.", "No one knows."),
]


def sentences(one: Task) -> list[Unit]:
    return [Unit(p.number, (s,)) for p in one.passages for s in range(len(p.sentences))]


def groups(one: Task) -> list[Unit]:
    """Units of several sentences, adjacent and not."""
    return [
        Unit(passage.number, members)
        for passage in one.passages
        for count in [len(passage.sentences)]
        for members in (tuple(range(count)), tuple(range(0, count, 2)), (0, count - 1))
        if count > 1 and len(set(members)) > 1
    ]


UNITS = [sentences(one) + groups(one) for one in TASKS]


@pytest.fixture(scope="module")
def model(evidence: Trained) -> EvidenceHead:
    return EvidenceHead(evidence.directory, threads=1)


Row = tuple[Any, Any, Any]  # a token's state, its window's state, and the token's embedding


class Naive:
    """The definition, slowly: every window by itself, and a list of every token's state."""

    def __init__(self, model: EvidenceHead, base: Path) -> None:
        self.config, self.network = model.config, model.network
        self.encode = quiet_transformers().AutoTokenizer.from_pretrained(base)
        self.known: dict[Any, Any] = {}

    def ids(self, text: str) -> list[int]:
        return list(self.encode(text, add_special_tokens=False).input_ids)

    def parts(self, question: str) -> list[list[int]]:
        asked, most = self.ids(question), POSITIONS // 2 - 2
        pieces = max(1, -(-len(asked) // most))
        cuts = [len(asked) * n // pieces for n in range(pieces + 1)]
        return [asked[start:end] for start, end in pairwise(cuts)]

    def rows(self, question: list[int], passage: Passage) -> list[list[Row]]:
        """Per sentence, what there is of each of its tokens in each window."""
        key = (tuple(question), passage.title, passage.text)
        if key not in self.known:
            self.known[key] = self._rows(question, passage)
        return list(self.known[key])

    def _rows(self, question: list[int], passage: Passage) -> list[list[Row]]:
        torch = torch_runtime(1)
        text = self.encode(passage.text, add_special_tokens=False, return_offsets_mapping=True)
        inside = [
            [n for n, (start, _) in enumerate(text.offset_mapping) if s.start <= start < s.end]
            for s in passage.sentences
        ]
        bounds = [(tokens[0], tokens[-1] + 1) for tokens in inside]
        title = self.ids(f"{passage.title}:")[: POSITIONS // 8] if passage.title else []
        found: list[list[Row]] = [[] for _ in bounds]
        for window in windows(
            question, title, text.input_ids, bounds, special=(0, 1), positions=POSITIONS
        ):
            kinds = [int(n > len(question) + 1) for n in range(len(window.ids))]
            with torch.inference_mode():
                given = {
                    "input_ids": torch.tensor([window.ids]),
                    "token_type_ids": torch.tensor([kinds]),
                }
                (hidden,) = self.network.encoder(**given).last_hidden_state
                (embedded,) = self.network.encoder.embeddings(**given)
            for number, start, end in window.spans:
                found[number] += [(hidden[n], hidden[0], embedded[n]) for n in range(start, end)]
        return found

    def logit(self, question: str, passage: Passage, members: Sequence[int]) -> float:
        torch, found = torch_runtime(1), []
        for part in self.parts(question):
            rows = [row for member in members for row in self.rows(part, passage)[member]]
            mean, first, _ = (torch.stack(column).mean(0) for column in zip(*rows, strict=True))
            with torch.inference_mode():
                found.append(float(self.network.head(torch.cat([mean, first]))))
        return max(found)

    def scores(self, one: Task, units: Sequence[Unit]) -> np.ndarray:
        singles = [
            np.asarray([self.logit(one.question, p, [s]) for s in range(len(p.sentences))])
            for p in one.passages
        ]
        logits = [self.logit(one.question, one.passages[u.passage], u.sentences) for u in units]
        features = record_features(units, np.asarray(logits), singles, links(one.passages))
        found = features @ np.asarray(self.config.features) + self.config.bias
        sentences = sum(len(passage.sentences) for passage in one.passages)
        shift = self.config.midpoint + self.config.midpoint_slope * math.log(max(1, sentences))
        return np.asarray(1 / (1 + np.exp(shift - found)))


def test_scores_equal_the_plain_definition(model: EvidenceHead, evidence: Trained) -> None:
    naive = Naive(model, evidence.base)
    found = model.score(TASKS, UNITS)
    expected = [naive.scores(one, units) for one, units in zip(TASKS, UNITS, strict=True)]
    for one, ours, theirs in zip(TASKS, found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4, err_msg=one.question)
    assert np.ptp(np.concatenate(expected)) > 0.2, "scores must differ for this to say anything"
    assert sum(len(groups(one)) for one in TASKS) > 10


def test_the_input_is_that_of_a_pair_of_texts(model: EvidenceHead, evidence: Trained) -> None:
    """As transformers encodes the question beside title and passage."""
    encode = quiet_transformers().AutoTokenizer.from_pretrained(evidence.base)
    one = task("Is it BBBB?", "It is here.", "It is BBBB there. No.")
    for passage in one.passages:
        prefix = f"{passage.title}:" if passage.title else ""
        pair = encode(one.question, prefix + passage.text, return_token_type_ids=True)
        ((part, window),) = model._reader.windows(one.question, passage)
        assert (part, window.ids) == (0, pair.input_ids)
        assert window.second == pair.token_type_ids.index(1)
        spans = [bytes_of(window.ids[start:end], encode) for _, start, end in window.spans]
        assert spans == [passage.sentence(n) for n in range(len(passage.sentences))]


def bytes_of(ids: list[int], tokenizer: Any) -> str:
    return str(tokenizer.decode(ids))


def test_the_fixtures_cover_what_they_should(model: EvidenceHead) -> None:
    reader = model._reader
    counts = [[len(list(reader.windows(t.question, p))) for p in t.passages] for t in TASKS]
    assert counts[0] == [1, 1] and counts[1][0] > 2 and counts[6][0] > 2
    assert [len(reader.questions(one.question)) for one in TASKS] == [1, 1, 3, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("size", [1, 3])
def test_what_is_scored_together_changes_nothing(
    model: EvidenceHead, evidence: Trained, size: int
) -> None:
    tasks = [replace(one, question=f"{one.question} {n}") for n in range(8) for one in TASKS]
    units, left = UNITS * 8, [every(one) for one in tasks]
    together, vectors = model.score(tasks, units), model.vectors(tasks, left)
    fresh = EvidenceHead(evidence.directory, threads=1)
    for start in range(0, len(tasks), size):
        part = slice(start, start + size)
        for ours, theirs in zip(fresh.score(tasks[part], units[part]), together[part], strict=True):
            assert ours.tolist() == theirs.tolist()
        for ours, theirs in zip(fresh.vectors(tasks[part], left[part]), vectors[part], strict=True):
            assert [own.tolist() for own in ours] == [own.tolist() for own in theirs]


def every(one: Task) -> list[list[int]]:
    return [list(range(len(passage.sentences))) for passage in one.passages]


def test_no_text_gives_no_scores(model: EvidenceHead) -> None:
    assert [len(own) for own in model.score(TASKS, UNITS)] == [len(units) for units in UNITS]
    assert [len(units) for units in UNITS[3:6]] == [4, 1, 0]
    assert model.score([], []) == [] and model.scores([TASKS[5]]) == [[]]
    blank = task("Why?", "", " ")
    assert [own.tolist() for own in model.scores([blank])[0]] == [[], []]
    assert [len(own) for own in model.vectors([blank], [[[], []]])[0]] == [0, 0]


def test_coarse_scores_are_those_of_single_sentences(model: EvidenceHead) -> None:
    expected = model.score(TASKS, [sentences(one) for one in TASKS])
    for found, one, scores in zip(model.scores(TASKS), TASKS, expected, strict=True):
        assert [len(own) for own in found] == [len(p.sentences) for p in one.passages]
        assert [value for own in found for value in own.tolist()] == scores.tolist()


def test_vectors_are_projected_embeddings(model: EvidenceHead, evidence: Trained) -> None:
    from safetensors.numpy import load_file

    matrix = load_file(evidence.directory / "evidence.safetensors")["projection"]
    naive, one = Naive(model, evidence.base), TASKS[1]
    ((first, second),) = model.vectors([one], [[[0, 3], [2]]])
    assert first.shape == (2, 32) and second.shape == (1, 32)
    rows = naive.rows(naive.ids(one.question), one.passages[0])[3]
    mean = np.mean([embedded.numpy() for _, _, embedded in rows], axis=0)
    np.testing.assert_allclose(first[1], mean @ matrix.astype(np.float32), atol=1e-4)


def test_what_a_long_title_loses_is_counted(model: EvidenceHead) -> None:
    title = "A very long title of a book"
    most = POSITIONS // 8
    tasks = [task("Why?", "One.", "Two. Three.", titles=[title]), TASKS[0]]
    model.score(tasks, [sentences(one) for one in tasks])
    assert model.cut_tokens == [2 * (len(title) + 1 - most), 0]
    ((_, window),) = model._reader.windows("Why?", tasks[0].passages[0])
    assert bytes_of(window.ids, model._reader.tokenizer).endswith(title[:most] + "One.")
    model.score([], [])
    assert model.cut_tokens == []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The inputs that the network reads."""
    read: list[list[int]] = []
    states = EvidenceNetwork.states

    def counting(self: EvidenceNetwork, batch: Sequence[Any]) -> Any:
        read.extend(window.ids for window in batch)
        return states(self, batch)

    monkeypatch.setattr(EvidenceNetwork, "states", counting)
    return read


def selected(evidence: Trained, tasks: list[Task], **options: Any) -> list[Selection]:
    name = str(evidence.directory)
    models = Models(name, name, name, threads=1)
    chosen = replace(COMPRESS, similarity_threshold=0.9, **options)
    return list(build(chosen, models, Encoders(models)).select(tasks))  # type: ignore[arg-type]


def test_each_passage_is_read_once_for_filter_graph_and_classifier(
    evidence: Trained, counted: list[list[int]]
) -> None:
    tasks = [TASKS[0], TASKS[7], TASKS[0]]
    found = selected(evidence, tasks, coarse=True, coarse_ratio=0.5)
    assert len(counted) == 4, "two passages, two questions; the third task is the first again"
    assert [one.after_coarse for one in found] == [3, 3, 3] and all(one.judged for one in found)
    assert found[0].units == found[2].units != found[1].units


def test_a_second_hop_reads_once_more_with_a_wider_question(
    evidence: Trained, counted: list[list[int]]
) -> None:
    texts = [passage.text for passage in TASKS[0].passages]
    asked = [task(q, *texts, titles=["Orl", "Tove dam"]) for q in ("Is it BBBB?", "Is it kkkk?")]
    free = selected(evidence, asked, coarse=False)
    best = [max(unit.score or 0 for unit in one.units) for one in free]
    options = {"fine_threshold": min(best), "coarse": False}
    counted.clear()
    first, second = (selected(evidence, asked, hops=hops, **options) for hops in (1, 2))
    for one, two in zip(first, second, strict=True):
        assert set(one.kept) <= set(two.kept) == set(one.kept) | set(two.rescued)
    wider = sum(0 < len(one.kept) < len(one.units) for one in first)
    assert wider > 0 and len(counted) == 4 + 4 + 2 * wider


def test_bfloat16_is_near(model: EvidenceHead, evidence: Trained) -> None:
    half = EvidenceHead(evidence.directory, threads=1, dtype="bfloat16")
    for ours, theirs in zip(half.score(TASKS, UNITS), model.score(TASKS, UNITS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.05)


def test_values_that_are_not_finite_are_an_error(evidence: Trained) -> None:
    broken = EvidenceHead(evidence.directory, threads=1)
    with torch_runtime().no_grad():
        broken.network.encoder.encoder.layer[1].output.dense.bias.fill_(float("nan"))
    with pytest.raises(ProcessingError, match="not finite"):
        broken.score([TASKS[0]], [UNITS[0]])
