"""Multi-hop rescue: ask again for what was dropped, with the question extended by what was found.

Pruning span by span loses the bridge of a question with two hops: the sentence about the
bridge's builder says nothing of the bridge. So the titles of the best kept units' documents and
the names in them are added to the question, and the dropped units are judged once more. The cost
is one more pass of the classifier over the dropped units for each further hop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grasp_cli.compression.classifiers import SpanClassifier
from grasp_cli.compression.tasks import Candidate, Selection, Task, Unit

SPANS = 2  # best kept units whose titles and names extend the question
TERMS = 8  # of them at most, so that the question is still what is asked
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")


def rescue(
    classifier: SpanClassifier,
    tasks: Sequence[Task],
    units: Sequence[Sequence[Unit]],
    selections: Sequence[Selection],
    *,
    threshold: float,
    hops: int,
) -> list[Selection]:
    """The selections with the dropped units that pass when asked for again, `hops` - 1 times."""
    found = list(selections)
    for _ in range(hops - 1):
        asked = dict(_asked(classifier, tasks, found))
        if not asked:
            break
        dropped = {n: sorted(set(range(len(units[n]))) - set(found[n].kept)) for n in asked}
        scored = classifier.score(
            list(asked.values()), [[units[n][unit] for unit in dropped[n]] for n in asked]
        )
        for number, scores in zip(asked, scored, strict=True):
            values = zip(dropped[number], scores.tolist(), strict=True)
            passed = {unit: score for unit, score in values if score >= threshold}
            found[number] = _with(found[number], passed)
    return found


def extended(task: Task, selection: Selection) -> str:
    """The question, and after it what the best kept units add to it: titles and names."""
    kept = set(selection.kept)
    best = [unit for unit in selection.best_first() if unit in kept][:SPANS]
    terms: dict[str, None] = {}
    said = task.question.lower()
    for unit in best:
        candidate = selection.units[unit]
        title = task.passages[candidate.runs[0].passage].title
        for term in (title, *names(candidate.text(task.passages))):
            if term and term.lower() not in said:
                terms[term] = None
    return " ".join([task.question, ", ".join(list(terms)[:TERMS])]).strip()


def names(text: str) -> list[str]:
    """Runs of capitalised words and numbers in a text, in order.

    A single word at the beginning is left out: there a capital letter says nothing.
    """
    runs: list[list[re.Match[str]]] = []
    for word in _WORD.finditer(text):
        if not (word.group()[0].isupper() or word.group().isdigit()):
            continue
        if runs and text[runs[-1][-1].end() : word.start()] == " ":
            runs[-1].append(word)
        else:
            runs.append([word])
    found = [(run[0].start(), text[run[0].start() : run[-1].end()]) for run in runs]
    return [name for start, name in found if start > 0 or " " in name]


def _asked(
    classifier: SpanClassifier, tasks: Sequence[Task], selections: Sequence[Selection]
) -> Iterator[tuple[int, Task]]:
    """The tasks of which something was kept and something dropped, with their wider questions."""
    for number, (task, selection) in enumerate(zip(tasks, selections, strict=True)):
        if not 0 < len(selection.kept) < len(selection.units):
            continue
        wider = replace(task, question=extended(task, selection))
        if wider.question != task.question and classifier.refusal(wider) is None:
            yield number, wider


def _with(selection: Selection, passed: dict[int, float]) -> Selection:
    units = list(selection.units)
    for unit, score in passed.items():
        units[unit] = Candidate([run._replace(score=score) for run in units[unit].runs], score)
    return replace(
        selection,
        units=units,
        kept=sorted({*selection.kept, *passed}),
        rescued=sorted({*selection.rescued, *passed}),
    )
