"""One contract for all methods, on tiny models, through the stage that `grasp compress` runs."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from grasp_cli.cli.compress_options import MethodName
from grasp_cli.compression.methods import (
    _ROLES,
    CLASSIFIERS,
    METHODS,
    WITHOUT_MODELS,
    Encoders,
    Models,
    build,
    needed,
)
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import CAUSAL, COMPRESS, compress_settings
from grasp_cli.pipe.errors import RecordError, UsageError
from tests.compression import tiny
from tests.compression.baselines import tiny_tokens, tiny_writers
from tests.compression.fakes import Words
from tests.models import tiny_causal

TEXTS = [
    "The dam at Orl was built in 1911. It burst in 1924! Nobody was hurt. The lake is gone now.",
    "水库位于山谷之中。它于1958年建成。\n\n- one item 🍜\n- two items\n",
    "Dr. Hale of the U.S. Survey led it.\r\nShe wrote 3 books, e.g. on salt. Who paid? The town.",
    "",
    "no full stop",
    " \n ",
    "A ferry left at noon. " * 12 + "It came back empty.",
]
QUESTIONS = [
    "When did the dam burst?",
    "水库建于哪一年？",
    "Who led the survey, and who paid for it?",
]
RECORDS = [
    {
        "id": str(number),
        "question": QUESTIONS[number % 3],
        "contexts": [
            {"id": f"c{place}", "title": "A title" if place % 2 else "", "text": text, "x": [1]}
            for place, text in enumerate(TEXTS[number : number + 1 + number % 4])
        ],
        "evidence_gold": [{"id": "c0", "start": 0, "end": 3}, {"id": "c2"}],
        "kept as it is": {"k": None},
    }
    for number in range(7)
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Models]:
    """Which models each method is given."""
    root = tmp_path_factory.mktemp("models")
    encoder, language = (
        str(tiny.bert(root / "bert")),
        str(tiny_causal.saved(root / "gemma", "gemma3")),
    )
    usual = Models(
        coarse=str(tiny.t5(root / "t5")),
        embedder=encoder,
        classifier=language,
        compressor=encoder,
        threads=1,
        causal_dtype="float32",
        causal=replace(CAUSAL, device="cpu"),
        quiet=True,
    )
    pairs = str(tiny.cross_encoder(root / "cross"))
    reader = replace(usual, classifier=pairs, compressor=pairs)
    embedded = replace(usual, coarse=encoder, classifier=encoder)
    speller = str(tiny_writers.causal(root / "speller", "Dam burst"))
    compressors = {
        "llmlingua2": str(tiny_tokens.llmlingua2(root / "llmlingua2")),
        "provence": str(tiny_tokens.provence(root / "provence")),
        "longllmlingua": language,
        "recomp-abstractive": str(tiny_writers.t5(root / "writer", "Dam burst")),
        "compact": speller,
        "refiner": speller,
    }
    own = {name: replace(usual, compressor=path) for name, path in compressors.items()}
    pairs_read = {"cross-encoder": reader, "ragcompress": reader}
    return {**own, **pairs_read, "embedded grasp": embedded, "": usual}


CASES = [*METHODS, "embedded grasp"]


@pytest.fixture(scope="module", params=CASES)
def case(request: Any, models: dict[str, Models]) -> tuple[str, Models]:
    return request.param.removeprefix("embedded "), models.get(request.param, models[""])


def stage(case: tuple[str, Models], **options: Any) -> Compress:
    method, models = case
    chosen = compress_settings(method, **options)
    encoders = Encoders(models)
    setting = Setting("embedded", "float32", "rule")
    embedder = encoders.get(models.embedder) if chosen.redundancy else None
    return Compress(build(chosen, models, encoders), embedder, Words(), chosen, setting)  # type: ignore[arg-type]


def outputs(compress: Compress, records: list[Any], size: int = 64) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(records), size):
        found += compress.process(records[start : start + size])
    for out in found:
        if not isinstance(out, RecordError):
            out["compression"].pop("seconds")
    return found


def test_names_on_the_command_line_are_the_methods_that_there_are() -> None:
    assert [name.value for name in MethodName] == list(METHODS) == list(_ROLES)
    assert set(CLASSIFIERS) <= set(METHODS)
    assert [name for name in METHODS if not _ROLES[name] and name != "grasp"] == list(
        WITHOUT_MODELS
    )


def test_an_unknown_method_is_named(models: dict[str, Models]) -> None:
    with pytest.raises(UsageError, match="no method 'magic': choose grasp, exit,"):
        build(replace(COMPRESS, method="magic"), models[""], Encoders(models[""]))


def test_only_what_a_run_reads_is_needed(models: dict[str, Models]) -> None:
    usual = models[""]
    asked = {name: needed(replace(COMPRESS, method=name), usual) for name in METHODS}
    assert asked["grasp"] == [usual.coarse, usual.embedder, usual.classifier]
    assert asked["quitox"] == [usual.coarse] and asked["cosine"] == [usual.embedder]
    assert asked["none"] == [] and asked["recomp-extractive"] == [usual.compressor]
    assert needed(replace(COMPRESS, fine=False), usual) == [usual.coarse]
    assert needed(replace(COMPRESS, coarse=False, redundancy=True), usual) == [
        usual.embedder, usual.classifier, usual.embedder,
    ]  # fmt: skip


def test_evidence_is_verbatim_in_order_and_no_longer(case: tuple[str, Models]) -> None:
    compress, given = stage(case), copy.deepcopy(RECORDS)
    found = outputs(compress, given)
    assert given == RECORDS, "the input is not changed"
    for record, out in zip(RECORDS, found, strict=True):
        assert list(out) == [*record, "context", "evidence", "compression"]
        sources = {context["id"]: context["text"] for context in record["contexts"]}
        rest = out["context"]
        for item in out["evidence"]:
            assert item["text"] == sources[item["context"]][item["start"] : item["end"]] != ""
            rest = rest[rest.index(item["text"]) + len(item["text"]) :]
        for before, after in pairwise(out["evidence"]):
            assert before["context"] < after["context"] or before["end"] <= after["start"]
        said = out["compression"]
        assert said["method"] == compress.method.name == case[0]
        assert said["tokens_out"] <= said["tokens_in"] and said["chars_out"] <= said["chars_in"]
        assert bool(out["context"]) == bool(said["sentences"]) or said["fallback"] == "empty"


def test_every_method_but_none_removes_something(case: tuple[str, Models]) -> None:
    fewer = {"top_k_spans": 1} if case[0] in ("top-k-passages", "recomp-extractive") else {}
    found = outputs(stage(case, fine_threshold=0.995, coarse_ratio=0.3, **fewer), RECORDS)
    removed = [out["compression"]["removed"] for out in found]
    assert (max(removed) > 0.2) == (case[0] != "none")


@pytest.mark.parametrize("size", [1, 3])
def test_the_batch_size_changes_nothing(case: tuple[str, Models], size: int) -> None:
    many = [{**record, "id": f"{r}-{record['id']}"} for r in range(2) for record in RECORDS]
    compress = stage(case, explain=True)
    assert outputs(compress, many, size) == outputs(stage(case, explain=True), many, 64)


@pytest.mark.parametrize("contexts", [[], [{"id": "c", "text": ""}], [{"id": "c", "text": " \n"}]])
def test_nothing_in_gives_nothing_out(case: tuple[str, Models], contexts: list[Any]) -> None:
    (out,) = outputs(stage(case), [{"id": "1", "question": "Why?", "contexts": contexts}])
    assert out["context"] == "" and out["evidence"] == []
    assert out["compression"]["fallback"] == "no-input"


def test_an_empty_question_is_that_records_error(case: tuple[str, Models]) -> None:
    records = [RECORDS[0], {**RECORDS[1], "question": " "}, RECORDS[2]]
    first, error, third = outputs(stage(case), records)
    assert isinstance(error, RecordError) and error.kind == "EmptyQuestion"
    assert [first, third] == outputs(stage(case), [RECORDS[0], RECORDS[2]])


def test_a_question_too_long_is_that_records_error_or_is_read(case: tuple[str, Models]) -> None:
    records = [RECORDS[0], {**RECORDS[1], "question": "why so " * 2000}, RECORDS[2]]
    first, long, third = outputs(stage(case), records)
    if isinstance(long, RecordError):
        assert long.kind == "QuestionTooLong" and "shorten it" in str(long)
    else:
        encoders = ("cosine", "embeddings-filter", "recomp-extractive", "llmlingua2")
        assert case[0] in (*WITHOUT_MODELS, *encoders)
    assert [first, third] == outputs(stage(case), [RECORDS[0], RECORDS[2]])


def test_a_token_budget_holds(case: tuple[str, Models]) -> None:
    for out in outputs(stage(case, max_tokens=9, max_tokens_per_doc=6), RECORDS):
        assert out["compression"]["tokens_out"] <= 9
        assert bool(out["context"]) == bool(out["compression"]["sentences"])
