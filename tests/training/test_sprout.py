"""Training of trees: documents, the joint objective, interruptions, what is written."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from grasp_cli.defaults import TRAIN_SPROUT, TREE, TrainSproutDefaults
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.sprout_network import SproutNetwork
from grasp_cli.models.tree_weights import CONFIG, WEIGHTS, TreeWeights
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.training import checkpoint, sprout_training
from grasp_cli.training.evidence_examples import Example, example
from grasp_cli.training.parameters import parameters
from grasp_cli.training.sprout import Trained, train
from grasp_cli.training.sprout_documents import Document, Documents
from grasp_cli.training.sprout_training import SproutTrainer
from tests.compression import tiny
from tests.training.synthetic import CPU, written

POSITIONS = 200
SETTINGS = replace(
    TRAIN_SPROUT, epochs=2, batch=5, encoder_rate=1e-3, head_rate=0.1, held_back=0.25, negatives=0,
    rank=4, dtype="float32", checkpoint_steps=1,
)  # fmt: skip


def record(number: int, rng: random.Random) -> dict[str, Any]:
    """Three passages; the word of the question stands in a sentence of two of them."""
    wanted = rng.choice("BCDFGH") * 4
    contexts, gold = [], []
    holders = rng.sample(range(3), 2)
    for place in range(3):
        words = [rng.choice("klmnpr") * 4 for _ in range(3)]
        if place in holders:
            words[rng.randrange(3)] = wanted
        sentences = [f"It is {word}." for word in words]
        text, name = " ".join(sentences), f"{number}-{place}"
        contexts.append({"id": name, "title": f"T{place}", "text": text})
        if place in holders:
            start = text.index(f"It is {wanted}.")
            gold.append({"id": name, "start": start, "end": start + len(f"It is {wanted}.")})
    return {
        "id": f"q{number}",
        "question": f"{wanted}?",
        "contexts": contexts,
        "evidence_gold": gold,
    }


def records(count: int) -> list[dict[str, Any]]:
    rng = random.Random(3)
    return [record(number, rng) for number in range(count)]


def examples(count: int) -> list[Example]:
    return [example(one, "f", "rule") for one in records(count)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("sprout") / "bert", positions=POSITIONS)


@pytest.fixture(scope="module")
def network(base: Path) -> SproutNetwork:
    return SproutNetwork(base, threads=1)


def trainer(network: SproutNetwork, **options: Any) -> SproutTrainer:
    made = examples(10)
    return SproutTrainer(
        network, made[:7], made[7:], replace(SETTINGS, **options), lambda entry: None
    )


# -- documents ---------------------------------------------------------------------------------


def documents(network: SproutNetwork, room: int = POSITIONS - 2) -> Documents:
    return Documents(network.tokenizer, room, TREE.chunk_sentences)


def said(network: SproutNetwork, made: Document) -> list[str]:
    ids = [made.tokens[a:b] for a, b in zip(made.bounds, made.bounds[1:], strict=False)]
    return [network.tokenizer.decode(one) for one in ids]


@pytest.mark.parametrize("seed", range(5))
def test_a_document_has_all_passages_in_chunks_of_two_sentences(
    network: SproutNetwork, seed: int
) -> None:
    one = examples(6)[seed]
    made = documents(network).make(one, random.Random(seed))
    texts = said(network, made)
    assert len(made.passages) == 3 and made.passages[-1][1] == len(texts) == 6
    shown = []
    for (first, last), positive in zip(made.passages, made.positive, strict=True):
        text = "".join(texts[first:last])
        number = next(p.number for p in one.passages if text.startswith(p.title))
        shown.append(number)
        passage = one.passages[number]
        assert text.replace(" ", "") == f"{passage.title}{passage.text}".replace(" ", "")
        gold = [s // 2 for s, label in enumerate(one.labels[number]) if label == 1]
        assert positive == bool(gold)
        assert [s - first for s in made.support if first <= s < last] == sorted(set(gold))
    assert sorted(shown) == [0, 1, 2]
    assert made.pairs == [tuple(made.support)]


def test_the_order_follows_from_the_random_numbers(network: SproutNetwork) -> None:
    one, maker = examples(1)[0], documents(network)
    orders = {tuple(maker.make(one, random.Random(seed)).tokens) for seed in range(30)}
    assert len(orders) == 6
    again = maker.make(one, random.Random(4))
    assert again == maker.make(one, random.Random(4))


def test_passages_with_evidence_come_first_where_there_is_no_room(network: SproutNetwork) -> None:
    one = examples(1)[0]
    whole = documents(network).make(one, random.Random(0))
    least = min(b - a for a, b in zip(whole.bounds, whole.bounds[1:], strict=False))
    made = documents(network, len(whole.tokens) - least).make(one, random.Random(0))
    assert made.positive == [True, True] and len(made.pairs) == 1
    for room in (1, 5, 20, 40):
        short = documents(network, room).make(one, random.Random(0))
        assert short.positive == [True] and 0 < len(short.tokens) <= room
        assert short.bounds[-1] == len(short.tokens)


# -- the objective -----------------------------------------------------------------------------


class Naive:
    """The published definitions, token by token, on a model loaded by transformers alone."""

    def __init__(self, network: SproutNetwork) -> None:
        self.network = network
        kind = quiet_transformers().AutoModel
        self.model = kind.from_pretrained(network.base, attn_implementation="eager").eval()

    def passed(self, tokens: list[int]) -> Any:
        ids = [*self.network.before, *tokens, *self.network.after]
        with torch_runtime(1).no_grad():
            return self.model(torch_runtime(1).tensor([ids]), output_attentions=True)

    def relation(self, made: Document) -> np.ndarray:
        """M with every head of the same weight."""
        layers = self.passed(made.tokens).attentions
        heads = [head.double().numpy() for layer in layers for head in layer[0]]
        count = len(made.bounds) - 1
        spans = [range(1 + made.bounds[n], 1 + made.bounds[n + 1]) for n in range(count)]
        total = np.zeros((count, count))
        for head in heads:
            own = np.zeros((count, count))
            for i in range(count):
                for j in range(count):
                    own[i, j] = np.mean([sum(head[t, u] for u in spans[j]) for t in spans[i]])
                own[i] /= own[i].sum()
            total += own / len(heads)
        return (total + total.T) / 2

    def loss(self, made: Document, temperature: float, weight: float) -> float:
        states = self.passed(made.tokens).last_hidden_state[0].double().numpy()[1:-1]
        question = self.passed(made.question).last_hidden_state[0].double().numpy().mean(0)
        vectors = [states[a:b].mean(0) for a, b in zip(made.bounds, made.bounds[1:], strict=False)]
        passages = [np.mean(vectors[first:last], axis=0) for first, last in made.passages]
        close = [
            math.exp(
                float(p @ question / np.linalg.norm(p) / np.linalg.norm(question)) / temperature
            )
            for p in passages
        ]
        negative = sum(c for c, gold in zip(close, made.positive, strict=True) if not gold)
        contrast = np.mean(
            [
                -math.log(c / (c + negative))
                for c, gold in zip(close, made.positive, strict=True)
                if gold
            ]
        )
        relation = self.relation(made)
        support = np.mean([-math.log(relation[i, j]) for i, j in made.pairs])
        return float(contrast + weight * support)


def test_the_loss_is_the_plain_one(network: SproutNetwork) -> None:
    state, naive = trainer(network), Naive(network)
    batch = state.training[:3]
    rng = random.Random(5)
    made = [state.documents.make(one, rng) for one in batch]
    expected = np.mean([naive.loss(one, 0.05, 0.1) for one in made])
    with torch_runtime(1).no_grad():
        assert float(state._loss(batch, random.Random(5))) == pytest.approx(expected, abs=1e-4)
    assert TRAIN_SPROUT.temperature == 0.05 and TRAIN_SPROUT.support_weight == 0.1


def test_a_step_in_parts_has_the_gradient_of_the_whole(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for together in (1, 100):
        network = SproutNetwork(base, threads=1)
        for module in network.encoder.modules():
            if isinstance(module, torch_runtime(1).nn.Dropout):
                module.p = 0.0
        state = trainer(network, encoder_rate=0.0, head_rate=0.0)
        batch = state.training[:5]
        monkeypatch.setattr(sprout_training, "_TOGETHER", together)
        state._step(batch, random.Random(0))
        found.append(state.network.head["alpha"].grad.clone())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-7)
    assert float(found[0].abs().max()) > 0


def test_the_area_is_that_of_pairs_that_belong_together(network: SproutNetwork) -> None:
    state = trainer(network)
    held = state.measure(state.held_back)
    naive, areas, supports = Naive(network), [], []
    for one in state.held_back:
        made = state.documents.make(one, state._own(one))
        relation = naive.relation(made)
        ((i, j),) = made.pairs
        others = [relation[a, b] for a in range(6) for b in range(a + 1, 6) if (a, b) != (i, j)]
        areas.append(np.mean([relation[i, j] > other for other in others]))
        supports.append(-math.log(relation[i, j]))
    assert held.pairs == pytest.approx(np.mean(areas), abs=1e-6)
    assert held.support == pytest.approx(np.mean(supports), abs=1e-4)


# -- training ----------------------------------------------------------------------------------


def run(file: Path, directory: Path, base: Path, **options: Any) -> Trained:
    settings: TrainSproutDefaults = replace(SETTINGS, **options)
    return train(
        [file], directory, settings, CPU, base=str(base), command="c", say=lambda text: None,
        threads=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("records") / "r.jsonl", records(16))


def test_it_learns_which_chunks_belong_together(file: Path, base: Path, tmp_path: Path) -> None:
    done = run(file, tmp_path / "m", base, epochs=12)
    assert done.before.support and done.after.support and done.before.contrast
    assert done.after.contrast is not None
    before = done.before.contrast + 0.1 * done.before.support
    assert done.after.contrast + 0.1 * done.after.support < before - 0.01
    weights = TreeWeights(tmp_path / "m")
    assert weights.tunes_encoder and float(weights.alpha().abs().max()) > 0.01
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == [
        "README.md", CONFIG, "log.jsonl", WEIGHTS,
    ]  # fmt: skip
    assert "r.jsonl (12 questions)" in (tmp_path / "m" / "README.md").read_text()


def test_only_heads_leaves_the_encoder_alone(
    file: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    plain = SproutNetwork.chunks
    monkeypatch.setattr(
        SproutNetwork, "chunks", lambda self, texts: reads.append(len(texts)) or plain(self, texts)
    )
    done = run(file, tmp_path / "m", base, only_heads=True, epochs=6)
    assert done.before.contrast == done.after.contrast
    assert done.before.support and done.after.support
    assert done.after.support < done.before.support
    assert not TreeWeights(tmp_path / "m").tunes_encoder
    assert sum(reads) == 12 + 4 * (2 + 6), "training documents are read once"


def raising_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any) -> Any:
        nonlocal calls
        calls -= 1
        function(*args)
        if calls < 0:
            raise KeyboardInterrupt

    return wrapped


@pytest.mark.parametrize("only_heads", [False, True])
def test_interrupted_it_ends_in_the_same_bytes(
    only_heads: bool, file: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(file, tmp_path / "whole", base, only_heads=only_heads)
    for calls in (0, 2):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(checkpoint, "save", raising_after(calls, checkpoint.save))
            run(file, tmp_path / "m", base, only_heads=only_heads)
    run(file, tmp_path / "m", base, only_heads=only_heads)
    for name in (WEIGHTS, CONFIG):
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_stored_weights_are_a_difference_to_the_encoder(
    file: Path, base: Path, tmp_path: Path
) -> None:
    run(file, tmp_path / "m", base, rank=0)
    trained = SproutNetwork(base, threads=1)
    TreeWeights(tmp_path / "m").add_to(trained.encoder)
    fresh, found = parameters(SproutNetwork(base, threads=1)), parameters(trained)
    changed = [name for name in found if not found[name].equal(fresh[name])]
    assert any(name.startswith("encoder.encoder.layer.0.attention") for name in changed)
    assert TreeWeights(tmp_path / "m").alpha().shape == trained.head["alpha"].shape


def test_records_without_two_gold_chunks_are_refused(base: Path, tmp_path: Path) -> None:
    single = [{**one, "evidence_gold": one["evidence_gold"][:1]} for one in records(12)]
    with pytest.raises(DataError, match="support the answer together"):
        run(written(tmp_path / "s.jsonl", single), tmp_path / "m", base)


def test_gold_outside_the_text_names_its_record(base: Path, tmp_path: Path) -> None:
    rows = records(8)
    rows[3]["evidence_gold"][0]["end"] = 10_000
    with pytest.raises(DataError, match=r'record "q3".*ends behind the text'):
        run(written(tmp_path / "s.jsonl", rows), tmp_path / "m", base)


def test_an_encoder_that_is_pooled_otherwise_is_refused(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "cls"
    other.mkdir()
    for path in base.iterdir():
        (other / path.name).symlink_to(path)
    kind = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{kind}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{kind}.Pooling"},
    ]
    (other / "modules.json").write_bytes(orjson.dumps(modules))
    (other / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True,
               "pooling_mode_mean_tokens": False}  # fmt: skip
    (other / "1_Pooling" / "config.json").write_bytes(orjson.dumps(pooling))
    with pytest.raises(UsageError, match="mean of token states"):
        SproutNetwork(other, threads=1)
