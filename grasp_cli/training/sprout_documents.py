"""Records as inputs of a training of trees: passages, gold and others, as one document."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from grasp_cli.compression.tasks import Passage
from grasp_cli.models.chunk_encoder import ChunkedText, tokens_of_chunks
from grasp_cli.training.evidence_examples import GOLD, Example, Labels


@dataclass(frozen=True)
class Document:
    """A question and one window of text; all tokens without special ones."""

    question: list[int]
    tokens: list[int]
    bounds: list[int]  # where the tokens of each chunk begin, and where the last one's end
    passages: list[tuple[int, int]]  # chunks [first, last) of each passage
    positive: list[bool]  # of each passage: whether it holds evidence
    support: list[int]  # chunks that are known to be evidence

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Chunks that support the answer together, each pair once."""
        return list(combinations(self.support, 2))


class _Piece(NamedTuple):
    """A passage as tokens, chunk by chunk; its title stands in the first one."""

    chunks: list[list[int]]
    gold: list[bool]
    positive: bool

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks))


class Documents:
    """Makes documents of examples.

    Parameters
    ----------
    tokenizer : of the package tokenizers
    room : most tokens of a document
    chunk_sentences : most sentences of a chunk
    """

    def __init__(self, tokenizer: Any, room: int, chunk_sentences: int) -> None:
        self._tokenizer = tokenizer
        self._room = room
        self._chunk_sentences = chunk_sentences

    def make(self, made: Example, rng: random.Random) -> Document:
        """The passages with evidence and as many of the others as fit, all in random order.

        A passage that does not fit whole is left out; the first one is cut instead.
        """
        some = {place for place, _ in made.some}
        pieces = [
            self._piece(passage, labels, number in some)
            for number, (passage, labels) in enumerate(zip(made.passages, made.labels, strict=True))
            if len(labels)
        ]
        rng.shuffle(pieces)
        chosen, left = list[_Piece](), self._room
        for piece in sorted(pieces, key=lambda piece: not piece.positive):  # stable
            if not chosen:
                piece = _cut(piece, self._room)
            if piece.size <= left:
                chosen.append(piece)
                left -= piece.size
        rng.shuffle(chosen)
        return self._joined(self._ids(made.question)[: self._room], chosen)

    def _joined(self, question: list[int], pieces: list[_Piece]) -> Document:
        tokens, bounds, passages, support = list[int](), [0], list[tuple[int, int]](), list[int]()
        for piece in pieces:
            first = len(bounds) - 1
            support += [first + number for number, gold in enumerate(piece.gold) if gold]
            for chunk in piece.chunks:
                tokens += chunk
                bounds.append(len(tokens))
            passages.append((first, len(bounds) - 1))
        positive = [piece.positive for piece in pieces]
        return Document(question, tokens, bounds, passages, positive, support)

    def _piece(self, passage: Passage, labels: Labels, some: bool) -> _Piece:
        step, count = self._chunk_sentences, len(labels)
        groups = [range(first, min(first + step, count)) for first in range(0, count, step)]
        sentences = passage.sentences
        spans = [(sentences[group[0]].start, sentences[group[-1]].end) for group in groups]
        ids, bounds = tokens_of_chunks(self._tokenizer, ChunkedText(passage.text, spans))
        chunks = [ids[bounds[n] : bounds[n + 1]] for n in range(len(groups))]
        if passage.title:
            chunks[0] = self._ids(passage.title) + chunks[0]
        gold = [any(labels[s] == GOLD for s in group) for group in groups]
        return _Piece(chunks, gold, some or any(gold))

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def _cut(piece: _Piece, room: int) -> _Piece:
    """The chunks that fit, and of a first one that does not its beginning."""
    kept, left = list[list[int]](), room
    for chunk in piece.chunks:
        if len(chunk) > left:
            break
        kept.append(chunk)
        left -= len(chunk)
    kept = kept or [piece.chunks[0][:room]]
    return _Piece(kept, piece.gold[: len(kept)], piece.positive)
