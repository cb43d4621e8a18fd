from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.redundancy import distinct, says_the_same


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Revenue was 5M in 2020.", "Revenue was 5M in 2021.", False),
        ("The bridge opened in May.", "The bridge opened in June.", False),
        ("It is safe.", "It is not safe.", False),
        ("It is safe.", "It isn't safe.", False),
        ("Anna met Bo.", "Anna met Cy.", False),
        ("The bridge is old and long.", "The bridge is long and old.", True),
        ("The old bridge was closed.", "That old bridge was shut.", True),
        ("水库建成。", "水库未建成。", False),
        ("水库建成。", "水库建成。", True),
    ],
)
def test_number_name_and_negation_make_texts_differ(first: str, second: str, same: bool) -> None:
    assert says_the_same(first, second) is same is says_the_same(second, first)


def naive(scores: list[float], cosines: np.ndarray, threshold: float, weight: float) -> list[int]:
    taken: list[int] = []
    left = set(range(len(scores)))
    while left:

        def worth(unit: int) -> float:
            near = max([cosines[unit][other] for other in taken], default=0.0)
            return weight * scores[unit] - (1 - weight) * near

        unit = sorted(left, key=lambda unit: (-worth(unit), unit))[0]
        left.discard(unit)
        if all(cosines[unit][other] <= threshold for other in taken):
            taken.append(unit)
    return taken


@given(st.integers(0, 9), st.floats(0, 1), st.integers(0, 10**6))
def test_equals_the_naive_definition(count: int, weight: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(count, 2)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = draw.random(count).round(4).tolist()
    found = distinct(scores, vectors, ["same"] * count, threshold=0.9, mmr_lambda=weight)
    cosines = np.round((vectors @ vectors.T).astype(np.float64), 4)
    assert found == naive(scores, cosines, 0.9, weight)


def test_the_better_of_two_copies_stays() -> None:
    same = np.ones((2, 1), np.float32)
    texts = ["the old bridge", "the old bridge"]
    assert distinct([0.2, 0.9], same, texts, threshold=0.9, mmr_lambda=0.7) == [1]
    texts = ["in 2020", "in 2021"]
    assert distinct([0.2, 0.9], same, texts, threshold=0.9, mmr_lambda=0.7) == [1, 0]
