"""Hard negatives: which passages BM25 finds for a question."""

from __future__ import annotations

from grasp_cli.training.negatives import nearest

PASSAGES = [
    "The dam at Orl burst in 1924.",
    "A ferry crosses the Tove.",
    "The dam was built by Ada Kerr; the dam is gone.",
    "Ada Kerr was born in Leith.",
    "",
]


def test_passages_that_share_words_come_best_first() -> None:
    (dam, kerr, none) = nearest(PASSAGES, ["Orl dam burst", "Ada Kerr Leith", "zebra"], 10)
    assert dam == [0, 2] and kerr == [3, 2] and none == []


def test_depth_cuts_and_unknown_words_do_not_matter() -> None:
    (found,) = nearest(PASSAGES, ["zebra Orl dam burst"], 1)
    assert found == [0]
    assert nearest(PASSAGES, [], 3) == []
