"""Entity F1: names and numbers of a long answer against the short answers, without a model.

GRASP's table measures overlap of entities where ASQA lets a model read the answer. This is our
definition of such an overlap, and no estimate of Disambig-F1: of n `qa_pairs`, r have a short
answer that stands in the answer as a run of tokens; x further entities are in the answer that are
in no question and in no short answer; F1 = 2 r / (r + x + n), the harmonic mean of r / (r + x) and
r / n.

An entity is a run of words that begin with a capital letter or a digit ("New York", "14 July
1990"). The first word of a sentence is capital anyway, so it belongs to none unless it begins with
a digit. Scripts without capitals have no further entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grasp_cli.evaluation.asqa import Pair
from grasp_cli.text.answers import holds, tokens

_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?:]\s+$")


def entity_f1(question: str, pairs: Sequence[Pair], answer: str) -> float:
    """The F1 of a record, from 0 to 1; `question` is the ambiguous one."""
    found = sum(any(holds(answer, tokens(gold)) for gold in pair.short_answers) for pair in pairs)
    golds = [gold for pair in pairs for gold in pair.short_answers]
    known = " ".join([question, *(pair.question for pair in pairs)])
    further = sum(not _is_known(entity, known, golds) for entity in set(_entities(answer)))
    return 2 * found / (found + further + len(pairs))


def _is_known(entity: tuple[str, ...], questions: str, golds: Sequence[str]) -> bool:
    """Whether an entity is part of a question, or it and a short answer hold one another."""
    if not entity or holds(questions, entity):
        return True
    joined = " ".join(entity)
    return any(holds(gold, entity) or holds(joined, tokens(gold)) for gold in golds)


def _entities(text: str) -> Iterator[tuple[str, ...]]:
    """The normalised tokens of each entity of a text."""
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        between, word = text[end : match.start()], match.group()
        opens = end == 0 or bool(_SENTENCE_END.search(between))
        is_name = word[0].isdigit() or (word[0].isupper() and not opens)
        if run and (between.strip() or not is_name):
            yield tokens(" ".join(run))
            run = []
        if is_name:
            run.append(word)
        end = match.end()
    if run:
        yield tokens(" ".join(run))
