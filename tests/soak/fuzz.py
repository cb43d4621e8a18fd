"""Nonsense through the stages in this process: no traceback, no hang, every line accounted for.

Three kinds of input: records whose parts are replaced by any JSON value (Hypothesis), lines whose
bytes are cut, doubled and spoiled (Hypothesis), and files of `sample_data`, plain and compressed,
with bytes flipped (a seeded generator). Each goes through reading, compressing, answering with a
reader that echoes, scoring and both explanations, or, as documents, into passages.
"""

from __future__ import annotations

import gzip
import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from grasp_cli.compression.baselines.lead import Lead
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import compress_settings
from grasp_cli.evaluation.comparison import Evaluation
from grasp_cli.formats import FORMATS, load_format
from grasp_cli.pipe import json_lines
from grasp_cli.pipe.engine import Tally, run_each, run_stage
from grasp_cli.pipe.errors import GraspError
from grasp_cli.pipe.sources import BadLine, read_documents, read_records
from grasp_cli.readers.prompts import Prompt
from grasp_cli.readers.reader import Reply
from grasp_cli.readers.stage import AnswerAtOnce, Answering
from grasp_cli.report.explain_page import page
from grasp_cli.report.explain_terminal import for_terminal
from grasp_cli.retrieval.passages import cut
from tests.compression.fakes import Words
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_data"
SECONDS = 60  # that one input may take before it counts as a hang
LINES_AT_ONCE = 12


@dataclass
class Fuzzed:
    """What went in and what became of it."""

    lines: int = 0
    records: int = 0  # that came out at the other end
    failed: int = 0  # of them, with an error of a stage
    unreadable: int = 0
    inputs_refused: int = 0  # whole files, as damaged or of another kind
    seconds: float = 0.0


def fuzz(lines: int, place: Path, number: int = 0) -> Fuzzed:
    """At least `lines` lines, a third of each kind; raises at the first that is not borne."""
    found, started = Fuzzed(), time.perf_counter()
    for target, strategy in ((lines // 3, spoiled_records()), (2 * lines // 3, spoiled_lines())):
        while found.lines < target:
            _examples(strategy, place, found, number := number + 1)
    draw = random.Random(number)
    while found.lines < lines:
        _flipped(draw, place, found)
    found.seconds = round(time.perf_counter() - started, 1)
    return found


def _examples(strategy: Any, place: Path, found: Fuzzed, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=100,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def check(data: bytes) -> None:
        path = place / "fuzz.jsonl"
        path.write_bytes(data)
        through(path, data, found)

    check()


def through(path: Path, plain: bytes | None, found: Fuzzed) -> None:
    """One file as records, as documents and as a foreign dataset; `plain` holds its lines."""
    with no_hang():
        _as_records(path, plain, found)
        _as_documents(path, plain)
        for name in FORMATS:
            with refusing():
                for _ in load_format(name).records(path):
                    pass


def _as_records(path: Path, plain: bytes | None, found: Fuzzed) -> None:
    bad: list[BadLine] = []
    read: list[dict[str, Any]] = []

    def records() -> Iterator[dict[str, Any]]:
        for record in read_records([path], bad.append):
            read.append(record)
            yield record

    written: list[dict[str, Any]] = []
    refused = False
    try:
        for batch in answered(compressed(records())):
            written += [json.loads(json_lines.dumps(record)) for record in batch]
    except GraspError as error:
        refused = explained_refusal(error, path)
    assert [record["id"] for record in read] == [record["id"] for record in written]
    for before, after in zip(read, written, strict=True):
        assert before.keys() - {"contexts"} <= after.keys()
    if plain is not None and not refused:
        assert len(read) + len(bad) == count_lines(plain)
    found.lines += count_lines(plain) if plain is not None else len(read) + len(bad)
    found.records += len(written)
    found.failed += sum("error" in record for record in written)
    found.unreadable += len(bad)
    found.inputs_refused += refused
    _looked_at(written)


def _looked_at(records: list[dict[str, Any]]) -> None:
    """Scored and explained, as `evaluate` and `explain` do."""
    evaluation = Evaluation("fuzz")
    for record in records:
        with refusing():
            json_lines.dumps(evaluation.add(record))
    for record in records[:2]:  # the slow part
        with refusing():
            for_terminal(record, 80, styled=False)
        with refusing():
            assert "<script" not in "".join(page([record]))
    evaluation.finish()


def _as_documents(path: Path, plain: bytes | None) -> None:
    bad: list[BadLine] = []
    count, refused = 0, False
    try:
        for document in read_documents([path], bad.append):
            count += 1
            assert "".join(passage.text for passage in cut(document, 5)) is not None
    except GraspError as error:
        refused = explained_refusal(error, path)
    if plain is not None and not refused:
        assert count + len(bad) == count_lines(plain)


def compressed(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    options = compress_settings("lead", explain=True)
    setting = Setting("embedded", "float32", "rule")
    stage = Compress(Lead(options), None, Words(), options, setting)  # type: ignore[arg-type]
    for batch in run_stage(stage, records, Tally()):
        yield from batch


class Echo:
    """A reader that says the end of what it was told."""

    name, model = "echo", "echo"

    def answer(self, prompt: Prompt) -> Reply:
        return Reply(prompt.context[-20:], len(prompt.context), 1, 0.0)

    def request(self, prompt: Prompt) -> dict[str, Any]:
        return {}


def answered(records: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    answering = Answering(Echo(), "strict", False, lambda text: None)
    return run_each(AnswerAtOnce(answering, 3), records, Tally())


def count_lines(data: bytes) -> int:
    """Those that hold anything but white space; the oracle of the reader."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return sum(bool(line.rstrip(b"\r").strip()) for line in lines)


def explained_refusal(error: GraspError, path: Path) -> bool:
    assert path.name in str(error), error
    return True


@contextmanager
def refusing() -> Iterator[None]:
    """A refusal on purpose is an answer; anything else is not."""
    with suppress(GraspError):
        yield


@contextmanager
def no_hang() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise AssertionError(f"more than {SECONDS} s for one input")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def sample_records() -> list[dict[str, Any]]:
    """Questions with three documents each as contexts, compressed and answered, as they travel."""
    documents = [json.loads(line) for line in (SAMPLES / "documents.jsonl").open()]
    questions = [json.loads(line) for line in (SAMPLES / "questions.jsonl").open()]
    for place, question in enumerate(questions):
        question["contexts"] = [
            {
                **documents[(place + step) % len(documents)],
                "score": 1 / (step + 1),
                "rank": step + 1,
            }
            for step in range(3)
        ]
    done = [record for batch in answered(compressed(iter(questions))) for record in batch]
    return [json.loads(json_lines.dumps(record)) for record in done]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**18, max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.sampled_from(["", " ", "\u0000", "<script>alert(1)</script>", "../../etc/x", "A. B! C?"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def spoiled_records(draw: Callable[[Any], Any]) -> bytes:
    """Lines of real records with parts replaced, left out, doubled or renamed."""
    samples = _samples()
    lines = []
    for place in range(draw(st.integers(1, LINES_AT_ONCE))):
        record = json.loads(draw(st.sampled_from(samples)))
        record["id"] = f"{record['id']}-{place}"
        if not draw(st.integers(0, 7)):
            record["question"] = draw(st.sampled_from(["", " \n", "\u3000"]))  # no stage takes it
        for _ in range(draw(st.integers(0, 3))):
            record = _edited(record, draw)
        lines.append(json.dumps(record).encode())
    return b"\n".join(lines)


def _edited(value: Any, draw: Callable[[Any], Any]) -> Any:
    """`value` with one of its parts, at any depth, changed."""
    if not isinstance(value, dict | list) or not value or not draw(st.integers(0, 3)):
        return draw(JSON)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        changed = draw(st.sampled_from(["edit", "drop", "double"]))
        part = {"edit": [_edited(value[place], draw)], "drop": [], "double": [value[place]] * 2}
        return [*value[:place], *part[changed], *value[place + 1 :]]
    key = draw(st.sampled_from(sorted(value)))
    changed = draw(st.sampled_from(["edit", "edit", "drop", "rename"]))
    rest = {name: part for name, part in value.items() if name != key}
    if changed == "drop":
        return rest
    if changed == "rename":
        return {**rest, draw(st.sampled_from(NAMES)): value[key]}
    return {**value, key: _edited(value[key], draw)}


NAMES = ["id", "_id", "qid", "question", "query", "contexts", "docs", "text", "contents", "title"]
NAMES += ["error", "answer", "evidence", "compression", "explain", "answers", "evidence_gold", ""]
TOKENS = [
    b"NaN",
    b"1e999",
    b"\\ud800",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"[" * 300,
    b"{",
    b'"',
]
TOKENS += [b"9" * 400, b"\r", b"\n\n", b"null", b"\\u0000", b"\xf0\x9f\x8d\x9c", b"}{", b",,"]


@st.composite
def spoiled_lines(draw: Callable[[Any], Any]) -> bytes:
    """Lines of real records with bytes cut out, doubled, replaced and put in."""
    samples = _samples()
    count = draw(st.integers(1, LINES_AT_ONCE))
    data = bytearray(b"\n".join(draw(st.sampled_from(samples)) for _ in range(count)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(data)))
        end = min(len(data), place + draw(st.integers(0, 40)))
        put = draw(
            st.sampled_from([b"", bytes(data[place:end]) * 2, *TOKENS]) | st.binary(max_size=4)
        )
        data[place:end] = put
    return bytes(data)


_SAMPLES: list[bytes] = []


def _samples() -> list[bytes]:
    if not _SAMPLES:
        _SAMPLES.extend(json_lines.dumps(record) for record in sample_records())
    return _SAMPLES


PACKERS: list[Callable[[bytes], bytes] | None] = [None, gzip.compress, zstandard.compress]


def _flipped(draw: random.Random, place: Path, found: Fuzzed) -> None:
    """A real file, perhaps compressed, with some of its bits changed."""
    name = draw.choice(["documents.jsonl", "questions.jsonl"])
    pack = draw.choice(PACKERS)
    plain = (SAMPLES / name).read_bytes()
    data = bytearray(pack(plain) if pack else plain)
    for _ in range(draw.choice([1, 1, 3, 20, 200])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path = place / "flipped.jsonl"
    path.write_bytes(data)
    through(path, None if pack else bytes(data), found)
