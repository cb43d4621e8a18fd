"""The stage: contexts, ranks and errors, against search and fusion written out."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from grasp_cli.pipe.errors import RecordError
from grasp_cli.retrieval.retriever import Retriever, shared_seconds
from grasp_cli.retrieval.store import Index
from tests.retrieval.conftest import MakeIndex
from tests.retrieval.fakes import HashingEncoder

CHANCE = random.Random(7)
WORDS = [f"w{i}" for i in range(40)]
DOCUMENTS = [
    {"id": f"d{i:03}", "text": " ".join(CHANCE.choices(WORDS, k=CHANCE.randint(2, 12)))}
    for i in range(150)
]
QUESTIONS = [" ".join(CHANCE.choices(WORDS, k=4)) for _ in range(12)] + ["unknown words"]


def ask(index: Index, questions: list[str], **options: Any) -> list[Any]:
    stage = Retriever(index, HashingEncoder, **options)
    records = [{"id": str(i), "question": q, "mine": 1} for i, q in enumerate(questions)]
    return list(stage.process(records))


def found(outcome: dict[str, Any]) -> list[tuple[str, float]]:
    return [(context["id"], context["score"]) for context in outcome["contexts"]]


def naive_dense(question: str) -> list[tuple[float, str]]:
    encoder = HashingEncoder()
    (asked,) = encoder.embed([question]).astype(float)
    vectors = encoder.embed([d["text"] for d in DOCUMENTS]).astype(float)
    scores = [
        (-round(float(vector @ asked), 4), document["id"])
        for vector, document in zip(vectors, DOCUMENTS, strict=True)
    ]
    return sorted(scores)


def naive_sparse(question: str) -> list[tuple[float, str]]:
    texts = [d["text"].split() for d in DOCUMENTS]
    mean, number = float(np.mean([len(t) for t in texts])), len(texts)
    scores = []
    for document, words in zip(DOCUMENTS, texts, strict=True):
        score = 0.0
        for word in question.split():
            holding = sum(word in other for other in texts)
            idf = np.log(1 + (number - holding + 0.5) / (holding + 0.5))
            tf = words.count(word)
            score += idf * tf / (tf + 1.5 * (0.25 + 0.75 * len(words) / mean))
        scores.append((-round(float(score), 4), document["id"]))
    return sorted(pair for pair in scores if pair[0] < 0)


def naive_hybrid(question: str, k: int, pool: int, kappa: float) -> list[tuple[str, float]]:
    scores: dict[str, float] = {}
    for ranking in (naive_dense(question)[:pool], naive_sparse(question)[:pool]):
        for rank, (_, name) in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0) + 1 / (kappa + rank)
    best = sorted((-round(score, 4), name) for name, score in scores.items())
    return [(name, -score) for score, name in best[:k]]


OPTIONS = [(5, None, 10), (12, None, 10), (3, 1, 60), (20, 7, 0), (9, 20, 1)]


@pytest.mark.parametrize(("k", "depth", "kappa"), OPTIONS)
def test_hybrid(make_index: MakeIndex, k: int, depth: int | None, kappa: float) -> None:
    index = make_index(DOCUMENTS)
    outcomes = ask(index, QUESTIONS, top_k=k, depth=depth, rrf_k=kappa)
    for question, outcome in zip(QUESTIONS, outcomes, strict=True):
        assert found(outcome) == naive_hybrid(question, k, depth or max(100, 10 * k), kappa)


def test_dense_and_sparse(make_index: MakeIndex) -> None:
    index = make_index(DOCUMENTS)
    for mode, naive in (("dense", naive_dense), ("sparse", naive_sparse)):
        outcomes = ask(index, QUESTIONS, mode=mode, top_k=7)
        for question, outcome in zip(QUESTIONS, outcomes, strict=True):
            assert found(outcome) == [(name, -score) for score, name in naive(question)[:7]]


def test_weighted(make_index: MakeIndex) -> None:
    index, pool, weight = make_index(DOCUMENTS), 30, 0.3
    options = {"fusion": "weighted", "fusion_weight": weight, "depth": pool, "top_k": 9}
    for question, outcome in zip(QUESTIONS, ask(index, QUESTIONS, **options), strict=True):
        scores: dict[str, float] = {}
        for ranking, share in (
            (naive_dense(question)[:pool], weight),
            (naive_sparse(question)[:pool], 1 - weight),
        ):
            values = [-score for score, _ in ranking]
            for score, name in ranking:
                span = max(values) - min(values)
                normal = (-score - min(values)) / span if span else 1.0
                scores[name] = scores.get(name, 0) + share * normal
        best = sorted((-round(score, 4), name) for name, score in scores.items())[:9]
        assert found(outcome) == [(name, -score) for score, name in best]


def test_scores_of_both_lists(make_index: MakeIndex) -> None:
    (outcome,) = ask(make_index(DOCUMENTS), [QUESTIONS[0]], top_k=10)
    dense = {name: -score for score, name in naive_dense(QUESTIONS[0])}
    sparse = {name: -score for score, name in naive_sparse(QUESTIONS[0])}
    for context in outcome["contexts"]:
        assert context.get("dense_score", dense[context["id"]]) == dense[context["id"]]
        assert context.get("sparse_score") == sparse.get(context["id"])
        assert ("sparse_rank" in context) == ("sparse_score" in context)


def test_ranks_of_both_lists(make_index: MakeIndex) -> None:
    (outcome,) = ask(make_index(DOCUMENTS), [QUESTIONS[0]], top_k=10)
    contexts = outcome["contexts"]
    assert [c["rank"] for c in contexts] == list(range(1, 11))
    names = [name for _, name in naive_dense(QUESTIONS[0])]
    for context in contexts:
        assert names[context["dense_rank"] - 1] == context["id"]
        parts = [1 / (10 + context[key]) for key in ("dense_rank", "sparse_rank") if key in context]
        assert context["score"] == round(sum(parts), 4)
    assert any("sparse_rank" in c for c in contexts)


def test_keys_and_place(make_index: MakeIndex) -> None:
    index = make_index([{"id": "a", "title": "T", "text": "river", "url": "u"}])
    stage = Retriever(index, HashingEncoder)
    record = {"id": "1", "contexts": [], "question": "river", "mine": {"x": 1}}
    (outcome,) = stage.process([record])
    assert list(outcome) == ["id", "contexts", "question", "mine", "retrieval"]
    assert list(outcome["contexts"][0]) == [
        "id",
        "title",
        "text",
        "score",
        "rank",
        "dense_rank",
        "dense_score",
        "sparse_rank",
        "sparse_score",
        "url",
    ]
    assert record["contexts"] == []


def test_empty_questions_are_errors_of_their_records(make_index: MakeIndex) -> None:
    outcomes = ask(make_index(DOCUMENTS), ["w1", " \n", "w2"])
    assert [isinstance(outcome, RecordError) for outcome in outcomes] == [False, True, False]
    assert outcomes[1].kind == "EmptyQuestion" and '"1"' in str(outcomes[1])
    assert found(outcomes[2]) == found(ask(make_index(DOCUMENTS), ["w2"])[0])


def test_one_batch_per_window_and_no_encoder_in_sparse_mode(make_index: MakeIndex) -> None:
    index, encoder = make_index(DOCUMENTS), HashingEncoder()
    list(Retriever(index, lambda: encoder).process([{"id": q, "question": q} for q in QUESTIONS]))
    assert encoder.batches == [len(QUESTIONS)]

    def never() -> HashingEncoder:
        raise AssertionError("sparse mode loads no encoder")

    list(Retriever(index, never, mode="sparse").process([{"id": "1", "question": "w1"}]))


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_the_batch_changes_nothing(make_index: MakeIndex, mode: str) -> None:
    index = make_index(DOCUMENTS)
    together = ask(index, QUESTIONS * 3, mode=mode)
    alone = [ask(index, [question], mode=mode)[0] for question in QUESTIONS]
    assert [o["contexts"] for o in together] == [o["contexts"] for o in alone] * 3


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
@pytest.mark.parametrize("documents", [[], [{"id": "a", "text": ""}]])
def test_an_index_of_nothing_finds_nothing(
    make_index: MakeIndex, mode: str, documents: list[dict[str, Any]]
) -> None:
    assert ask(make_index(documents), ["river"], mode=mode)[0]["contexts"] == []


def test_equal_texts_are_two_documents(make_index: MakeIndex) -> None:
    twins = [{"id": "b", "text": "river ice"}, {"id": "a", "text": "river ice"}]
    (outcome,) = ask(make_index([*twins, {"id": "c", "text": "sun"}]), ["river"], top_k=2)
    assert found(outcome) == [("a", round(2 / 11, 4)), ("b", round(2 / 12, 4))]


def test_seconds_are_shared_by_words() -> None:
    assert shared_seconds(6.0, ["a", "b c", "d e f"]) == [1.0, 2.0, 3.0]
