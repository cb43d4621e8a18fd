"""Inputs of the evidence network, and its states against one window at a time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.models.evidence_network import EvidenceNetwork, Window, windows
from grasp_cli.models.runtime import torch_runtime
from tests.compression import tiny

CLS, SEP = -1, -2
QUESTION, TITLE = [7, 8, 9], [5]
BEFORE = [CLS, *QUESTION, SEP, *TITLE]
POSITIONS = 40
ROOM = POSITIONS - len(BEFORE) - 1


def cut(sizes: list[int], gaps: list[int]) -> tuple[list[int], list[tuple[int, int]], list[Window]]:
    """Sentences of so many tokens, each after a gap of tokens that are in none."""
    bounds, end = [], 0
    for size, gap in zip(sizes, gaps, strict=True):
        bounds.append((end + gap, end + gap + size))
        end = bounds[-1][1]
    passage = list(range(100, 100 + end))
    found = list(windows(QUESTION, TITLE, passage, bounds, special=(CLS, SEP), positions=POSITIONS))
    return passage, bounds, found


def stretch(window: Window) -> tuple[int, int]:
    """[start, end) of the passage's tokens in a window; they are numbered from 100."""
    inner = window.ids[len(BEFORE) : -1]
    assert inner == list(range(inner[0], inner[0] + len(inner)))
    return inner[0] - 100, inner[-1] - 99


sentences = st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 9, 13, 21, 33, 34, 80]), max_size=14)


@given(sentences, st.data())
def test_every_token_is_in_a_window_and_sentences_are_whole(
    sizes: list[int], data: st.DataObject
) -> None:
    gap, count = st.sampled_from([0, 0, 0, 2, 40]), len(sizes)
    gaps = data.draw(st.lists(gap, min_size=count, max_size=count))
    passage, bounds, found = cut(sizes, gaps)
    for window in found:
        assert window.ids[: len(BEFORE)] == BEFORE and window.ids[-1] == SEP
        assert len(window.ids) <= POSITIONS and window.second == len(QUESTION) + 2
    if len(passage) <= ROOM:
        assert [window.ids for window in found] == [[*BEFORE, *passage, SEP]]
    if not passage:
        return
    places = [stretch(window) for window in found]
    assert {t for start, end in places for t in range(start, end)} == set(range(len(passage)))
    assert places == sorted(places)
    for (start, end), window in zip(places, found, strict=True):
        expected = [
            (number, passage[max(start, first) : min(end, last)])
            for number, (first, last) in enumerate(bounds)
            if first < end and start < last
        ]
        assert [(n, window.ids[a:b]) for n, a, b in window.spans] == expected
        for number, tokens in expected:
            first, last = bounds[number]
            assert len(tokens) == last - first or last - first > ROOM, "a sentence is cut"


@given(sentences)
def test_windows_overlap_by_what_fits_in_a_quarter_and_each_reads_on(sizes: list[int]) -> None:
    _, bounds, found = cut(sizes, [0] * len(sizes))
    if len(found) == 1:
        return
    edges = sorted({edge for bound in bounds for edge in bound})
    for (start, end), (after, stop) in pairwise(map(stretch, found)):
        assert start < after <= end < stop, "no gap, and no window within another"
        assert end - after <= ROOM // 4
        if after < end:
            continue
        last = max(edge for edge in edges if edge < end)
        following = min(edge for edge in edges if edge > end)
        assert end in edges, "inside a long sentence windows overlap"
        assert end - last > ROOM // 4 or following - last > ROOM, "the last sentence would fit"


def test_a_long_sentence_is_spread_with_an_overlap_of_a_quarter() -> None:
    assert ROOM == 33
    _, _, found = cut([5, 90, 4], [0, 0, 0])
    assert [stretch(window) for window in found] == [(0, 5), (5, 38), (30, 63), (55, 88), (80, 99)]
    assert [[number for number, _, _ in window.spans] for window in found] == [
        [0], [1], [1], [1], [1, 2],
    ]  # fmt: skip


def test_neighbours_of_a_cut_are_read_on_both_sides() -> None:
    _, _, found = cut([5] * 10, [0] * 10)
    assert [stretch(window) for window in found] == [(0, 30), (25, 50)]


@pytest.fixture(scope="module", params=[512, 60], ids=["512", "60, no multiple of eight"])
def network(request: Any, tmp_path_factory: pytest.TempPathFactory) -> EvidenceNetwork:
    path = tiny.bert(tmp_path_factory.mktemp("bert"), positions=request.param)
    return EvidenceNetwork(path, threads=1)


def test_states_equal_one_window_at_a_time_without_padding(network: EvidenceNetwork) -> None:
    torch = torch_runtime(1)
    batch = [
        window
        for question, sizes in (([9, 12], [20, 30, 1]), ([8] * 20, [40, 12, 60]), ([], [3]))
        for window in windows(
            question,
            [30, 31],
            [40 + (7 * t) % 90 for t in range(sum(sizes))],
            [(sum(sizes[:n]), sum(sizes[: n + 1])) for n in range(len(sizes))],
            special=(0, 1),
            positions=min(60, network.positions),
        )
    ]
    batch.append(Window([0, 9, 1, 1], 3, []))
    assert len(batch) > 5 and max(len(window.ids) for window in batch) == 60
    means, firsts, inputs = [], [], []
    with torch.inference_mode():
        found = network.states(batch)
        for window in batch:
            kinds = [int(place >= window.second) for place in range(len(window.ids))]
            given = {
                "input_ids": torch.tensor([window.ids]),
                "token_type_ids": torch.tensor([kinds]),
            }
            (hidden,) = network.encoder(**given).last_hidden_state
            (embedded,) = network.encoder.embeddings(**given)
            firsts.append(hidden[0])
            means += [hidden[start:end].mean(0) for _, start, end in window.spans]
            inputs += [embedded[start:end].mean(0) for _, start, end in window.spans]
    for ours, theirs in zip(found, (means, firsts, inputs), strict=True):
        torch.testing.assert_close(ours, torch.stack(theirs), atol=1e-5, rtol=0)
        assert float(ours.std(0).min()) > 0.01, "states must differ for this to say anything"


def test_a_span_without_tokens_has_a_state_of_zeros(tmp_path: Path) -> None:
    network = EvidenceNetwork(tiny.bert(tmp_path), threads=1)
    with torch_runtime().inference_mode():
        found = network.states([Window([0, 9, 1, 20, 21, 1], 3, [(0, 3, 3), (1, 3, 5)])])
    for rows in (found.means, found.inputs):
        assert float(rows[0].abs().max()) == 0 and float(rows[1].abs().max()) > 0
