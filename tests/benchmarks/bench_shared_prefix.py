"""Method `exit` on shared prefixes against one prompt at a time, same weights, same inputs.

Gemma 3 270M in bfloat16; all sentences of a few questions of HotpotQA, and thirty sentences of a
paper of about 2,000 tokens. The plain ways are timed on a sample of the prompts and scaled by
tokens, since on the whole they would take half an hour. Times are CPU time of this process, which
other work on the machine disturbs least.

The questions are every third of the first twenty; GRASP_BENCH_EVERY=1 takes all of them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from grasp_cli.compression.causal_classifier import CausalClassifier
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.locate import find
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import MissingError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
HOTPOTQA = SHARED / "hotpotqa" / "dev.json"
QASPER = SHARED / "qasper" / "papers.jsonl"
QUESTIONS = 20
EVERY = int(os.environ.get("GRASP_BENCH_EVERY", "3"))
PASSAGE_SAMPLE = 24  # prompts that the plain ways are timed on
DOCUMENT_SAMPLE = 2
DOCUMENT_CHARACTERS = 9000  # about 2,000 tokens
DOCUMENT_SENTENCES = 30
SHARE_OF_BOUND = 0.85
BAND = 0.03
Entry = dict[str, Any]


class Plain(NamedTuple):
    """One of the ways to do without shared prefixes."""

    name: str
    run: Callable[[Any, list[list[int]], list[int]], list[float]]
    target: float | None


class Work(NamedTuple):
    name: str
    tasks: list[Task]
    units: list[list[Unit]]
    sample: int
    target: float


def benchmarks() -> list[Entry]:
    """Nothing where the data or the model is not there."""
    try:
        directory = find("gemma-3-270m")
    except MissingError:
        return []
    if not HOTPOTQA.exists() or not QASPER.exists():
        return []
    model = CausalModel(directory, Running(device="cpu", dtype="bfloat16", quiet=True))
    classifier = CausalClassifier(model)
    classifier.load()
    return [*_measured(classifier, passages()), *_measured(classifier, document())]


def passages(every: int = EVERY) -> Work:
    """All sentences of the ten passages of each question, every so many questions."""
    tasks = []
    for item in json.loads(HOTPOTQA.read_text())[:QUESTIONS:every]:
        contexts = [
            {"id": title, "title": title, "text": "".join(sentences)}
            for title, sentences in item["context"]
        ]
        tasks.append(Task.of({"question": item["question"], "contexts": contexts}, "rule"))
    return Work("passages", tasks, [_sentences(task) for task in tasks], PASSAGE_SAMPLE, 5.0)


def document() -> Work:
    """Thirty sentences of the beginning of a paper."""
    with open(QASPER) as stream:
        paper = json.loads(next(stream))
    context = {"id": "paper", "text": paper["text"][:DOCUMENT_CHARACTERS]}
    task = Task.of({"question": "What data do they use?", "contexts": [context]}, "rule")
    units = _sentences(task)[:DOCUMENT_SENTENCES]
    return Work("2,000-token document", [task], [units], DOCUMENT_SAMPLE, 12.0)


def _sentences(task: Task) -> list[Unit]:
    return [
        Unit(passage.number, (position,))
        for passage in task.passages
        for position in range(len(passage.sentences))
    ]


def _measured(classifier: CausalClassifier, work: Work) -> Iterator[Entry]:
    with watched(classifier) as seen:
        scores, seconds = _timed(lambda: classifier.score(work.tasks, work.units))
    prompts, found = seen.prompts, seen.scores
    tokens = sum(map(len, prompts))
    bound = tokens / seen.tokens
    label = f"exit, {work.name}"
    yield entry(f"{label}: sentences", sum(map(len, scores)), "")
    yield entry(f"{label}: sentences per CPU second", len(prompts) / seconds, "/s")
    yield entry(f"{label}: tokens through the model", seen.tokens, "tokens")
    yield entry(f"{label}: tokens of all prompts", tokens, "tokens")
    yield entry(f"{label}: ratio of tokens saved", bound, "x")
    chosen = range(0, len(prompts), max(1, len(prompts) // work.sample))[: work.sample]
    sample = [prompts[place] for place in chosen]
    plain_scores: list[float] = []
    for plain in (
        Plain("one by one, full logits", _one_by_one, work.target),
        Plain("left-padded pairs, full logits", _pairs, work.target),
        Plain("one by one, last logits", last_logits, SHARE_OF_BOUND * bound),
    ):
        answers = [classifier.model.token(word) for word in ("Yes", "No")]
        values, spent = _timed(lambda: plain.run(classifier.model.network, sample, answers))  # noqa: B023
        plain_scores = plain_scores or values
        rate = sum(map(len, sample)) / spent
        yield entry(f"{label}: {plain.name}", len(prompts) / (tokens / rate), "/s")
        ratio = tokens / rate / seconds
        yield entry(f"{label}: speed against {plain.name}", ratio, "x", plain.target)
    outside = 1 - seen.seconds / seconds
    yield entry(f"{label}: time outside the model", 100 * outside, "%", 10.0, least=False)
    together = [found[place] for place in chosen]
    apart = [abs(one - other) for one, other in zip(plain_scores, together, strict=True)]
    yield entry(f"{label}: largest difference of a score", max(apart), "", BAND, least=False)
    near = [abs(score - 0.5) <= BAND for score in plain_scores]
    pairs = zip(plain_scores, together, near, strict=True)
    other = sum((one >= 0.5) != (two >= 0.5) for one, two, close in pairs if not close)
    yield entry(f"{label}: other decisions outside that band", other, "", 0, least=False)
    yield entry(f"{label}: scores within 0.03 of 0.5", 100 * sum(near) / len(near), "%")


class _Seen:
    """What went through the engine: prompts, scores, tokens and seconds in the model."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.scores: list[float] = []
        self.tokens = 0
        self.seconds = 0.0


@contextmanager
def watched(classifier: CausalClassifier) -> Iterator[_Seen]:
    seen = _Seen()
    scorer, run, judge = classifier._scorer, classifier._scorer._run, classifier._probabilities

    def timed(**inputs: Any) -> Any:
        started = time.process_time()
        output = run(**inputs)
        seen.seconds += time.process_time() - started
        return output

    def watched(groups: list[list[list[int]]]) -> Any:
        before = scorer.tokens
        values = judge(groups)
        seen.tokens += scorer.tokens - before
        seen.prompts += [prompt for prompts in groups for prompt in prompts]
        seen.scores += [float(score) for group in values for score in group]
        return values

    scorer._run, classifier._probabilities = timed, watched  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        scorer._run, classifier._probabilities = run, judge  # type: ignore[method-assign]


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def _one_by_one(model: Any, prompts: list[list[int]], answers: list[int]) -> list[float]:
    return [_yes(_logits(model, [prompt])[0, -1, answers]) for prompt in prompts]


def last_logits(model: Any, prompts: list[list[int]], answers: list[int]) -> list[float]:
    return [_yes(_logits(model, [p], logits_to_keep=1)[0, -1, answers]) for p in prompts]


def _pairs(model: Any, prompts: list[list[int]], answers: list[int]) -> list[float]:
    """As the published code does it: two at a time, padded on the left."""
    found = []
    for start in range(0, len(prompts), 2):
        logits = _logits(model, prompts[start : start + 2])
        found += [_yes(row[-1, answers]) for row in logits]
    return found


def _logits(model: Any, prompts: Sequence[list[int]], **more: Any) -> Any:
    torch = torch_runtime()
    length = max(map(len, prompts))
    ids = torch.tensor([[0] * (length - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (length - len(p)) + [1] * len(p) for p in prompts])
    with torch.inference_mode():
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        return model(**given, use_cache=False, **more).logits


def _yes(logits: Any) -> float:
    return float(torch_runtime().softmax(logits.double(), 0)[0])


def entry(
    name: str, value: float, unit: str, target: float | None = None, *, least: bool = True
) -> Entry:
    holds = None if target is None else (value >= target if least else value <= target)
    rounded = value if isinstance(value, int) else float(f"{value:.4g}")
    return {"name": name, "value": rounded, "unit": unit, "target": target, "holds": holds}
