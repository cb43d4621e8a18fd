"""Hard negatives: the passages that BM25 finds for a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grasp_cli.retrieval.tokens import Tokenizer


def nearest(passages: Sequence[str], questions: Sequence[str], depth: int) -> list[list[int]]:
    """For each question the numbers of the `depth` best passages, best first."""
    import bm25s

    tokenizer = Tokenizer()
    vocabulary: dict[str, int] = {}
    corpus = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in tokenizer.words(text)]
        for text in passages
    ]
    engine = bm25s.BM25()
    engine.index((corpus, vocabulary), show_progress=False)
    found = []
    for question in questions:
        words = [vocabulary[word] for word in tokenizer.words(question) if word in vocabulary]
        scores = engine.get_scores_from_ids(words) if words else np.zeros(len(passages))
        best = np.argsort(-scores, kind="stable")[:depth]
        found.append([int(number) for number in best if scores[number] > 0])
    return found
