"""Baselines that read no model, against what they should be by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from grasp_cli.compression.baselines.none import Everything
from grasp_cli.compression.baselines.oracle import Oracle
from grasp_cli.compression.baselines.random import RandomSentences
from grasp_cli.compression.baselines.top_k_passages import TopKPassages
from grasp_cli.compression.baselines.truncate import Truncate
from grasp_cli.compression.blocks import join_contexts
from grasp_cli.pipe.errors import RecordError
from grasp_cli.text import segment
from tests.compression.baselines.helpers import TEXTS, record, run, settings
from tests.compression.fakes import Words


def tokens(text: str) -> int:
    return Words().count([text])[0]


@pytest.mark.parametrize("most", range(1, 100, 3))
def test_truncate_keeps_the_longest_beginning_that_fits(most: int) -> None:
    full = join_contexts(record()["contexts"])
    (out,) = run(Truncate(), settings("truncate", max_tokens=most), record())
    kept = out["context"]
    assert full.startswith(kept) and 0 < tokens(kept) <= most
    ends = [end for end in range(len(kept) + 1, len(full) + 1) if not full[end : end + 1].strip()]
    longer = {full[:end].rstrip() for end in ends} - {kept}
    headings = ("\n\nA", "\n\nA title")  # alone they say nothing
    assert not [t for t in longer if tokens(t) <= most and not t.endswith(headings)]


def test_truncate_follows_the_ranks_and_keeps_a_fifth() -> None:
    given = record()
    for context, rank in zip(given["contexts"], (4, 3, 1, 2), strict=True):
        context["rank"] = rank
    (out,) = run(Truncate(), settings("truncate"), given)
    assert out["context"].startswith("A ferry left at noon.")
    said = out["compression"]
    assert said["tokens_in"] // 5 - 3 <= said["tokens_out"] <= said["tokens_in"] / 5
    assert [item["context"] for item in out["evidence"]] == ["c2"]
    assert said["truncated"] == len(TEXTS[2]) - len(out["context"])


def test_truncate_leaves_titles_out_before_text_and_cuts_characters_last() -> None:
    long_title = record(["A word."])
    long_title["contexts"][0]["title"] = "A title of so many words"
    (out,) = run(Truncate(), settings("truncate", max_tokens=2), long_title)
    assert out["context"] == "A"
    (out,) = run(Truncate(), settings("truncate", max_tokens=2), record(["a+b+c+d"]))
    assert out["context"] == "a+"


def test_truncate_within_each_document() -> None:
    options = settings("truncate", rate=1.0, max_tokens_per_doc=5)
    (out,) = run(Truncate(), options, record())
    assert [tokens(block) for block in out["context"].split("\n\n")] == [5, 5, 4, 4]  # cut at words


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.77, 1.0])
def test_a_rate_is_a_budget_for_any_method(rate: float) -> None:
    (out,) = run(Everything(), settings("none", rate=rate), record())
    said = out["compression"]
    assert 0 < said["tokens_out"] <= rate * said["tokens_in"]
    assert (out["context"] == join_contexts(record()["contexts"])) == (rate == 1.0)


def test_a_budget_in_tokens_stands_in_for_the_published_rate() -> None:
    assert settings("truncate").rate == 0.2
    assert settings("truncate", max_tokens=100).rate is None
    assert settings("truncate", max_tokens=100, rate=0.5).rate == 0.5
    assert settings("grasp").rate is None


def test_random_draws_each_sentence_as_often_and_repeats_itself() -> None:
    texts = [" ".join(f"Ship {number} left port." for number in range(10))]
    drawn: Counter[str] = Counter()
    for seed in range(300):
        method = RandomSentences(settings("random", seed=seed))
        (out,) = run(method, settings("random"), record(texts))
        assert out == run(method, settings("random"), record(texts))[0]
        kept = [segment(item["text"]) for item in out["evidence"]]
        assert sum(map(len, kept)) == 2
        drawn.update(
            item["text"][sentence.start : sentence.end]
            for item, sentences in zip(out["evidence"], kept, strict=True)
            for sentence in sentences
        )
    assert sum(drawn.values()) == 600 and len(drawn) == 10
    assert all(30 < count < 95 for count in drawn.values()), drawn  # 60, five deviations


def test_random_depends_on_the_id_and_not_on_the_batch() -> None:
    many = [record(id=f"r{number}") for number in range(6)]
    method, options = RandomSentences(settings("random")), settings("random")
    together = run(method, options, *many)
    assert together == [run(method, options, one)[0] for one in reversed(many)][::-1]
    assert len({out["context"] for out in together}) > 1


def test_top_k_passages_are_the_best_ranked_whole() -> None:
    given = record()
    for context, rank in zip(given["contexts"], (2, 4, 1, 3), strict=True):
        context["rank"] = rank
    (out,) = run(TopKPassages(settings("top-k-passages")), settings("top-k-passages"), given)
    assert out["context"] == f"{TEXTS[2]}\n\n{TEXTS[0]}"
    three = settings("top-k-passages", top_k_spans=3)
    (out,) = run(TopKPassages(three), three, given)
    assert [item["context"] for item in out["evidence"]] == ["c2", "c0", "c3"]
    unranked = settings("top-k-passages", top_k_spans=1)
    assert run(TopKPassages(unranked), unranked, record())[0]["context"] == TEXTS[0]


def test_the_oracle_keeps_the_sentences_that_gold_touches() -> None:
    start = TEXTS[0].index("burst")
    gold = [
        {"id": "c0", "start": start, "end": start + 5},
        {"id": "c1", "start": 0, "end": 60},
        {"id": "elsewhere"},
    ]
    (out,) = run(Oracle(), settings("oracle"), record(evidence_gold=gold))
    assert [item["text"] for item in out["evidence"]] == [
        "It burst in 1924!",
        "Dr. Hale of the U.S. Survey led it.",
        "She wrote 3 books, e.g. on salt.",
    ]
    (out,) = run(Oracle(), settings("oracle"), record(evidence_gold=[{"id": "c2"}]))
    assert out["context"] == TEXTS[2]


def test_the_oracle_reads_offsets_of_the_document() -> None:
    contexts = [
        {"id": "p0", "doc_id": "d", "start": 0, "text": "One came. Two went."},
        {"id": "p1", "doc_id": "d", "start": 20, "text": "Three ate. Four slept."},
    ]
    gold = [{"id": "d", "start": 20, "end": 30}]
    (out,) = run(Oracle(), settings("oracle"), record(evidence_gold=gold) | {"contexts": contexts})
    assert [item["text"] for item in out["evidence"]] == ["Three ate."]


def test_the_oracle_without_gold_says_so() -> None:
    (error,) = run(Oracle(), settings("oracle"), record())
    assert isinstance(error, RecordError) and error.kind == "NoGold" and "convert" in str(error)
    (bad,) = run(Oracle(), settings("oracle"), record(evidence_gold=["c0"]))
    assert isinstance(bad, RecordError) and bad.kind == "BadGold"
    none: Any = run(Oracle(), settings("oracle"), record(evidence_gold=[]))[0]
    assert none["compression"]["fallback"] == "keep-best"
    empty = settings("oracle", on_empty="empty")
    assert run(Oracle(), empty, record(evidence_gold=[]))[0]["context"] == ""
